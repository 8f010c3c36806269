// The one suite that every store adapter passes: what store.ts promises, and nothing of how it is kept.
import { describe, type TestContext } from 'node:test';
import type { Store } from '../../../src/store/store.ts';
import { Scene } from '../scene.ts';
import { testAccepting } from './accepting.ts';
import { testClocks } from './clocks.ts';
import { testConfiguration } from './configuration.ts';
import { testFollowing } from './following.ts';
import { testInterleavings } from './interleavings.ts';
import { testKeys } from './keys.ts';
import { testLists } from './lists.ts';
import { testMaintenance } from './maintenance.ts';
import { testOperations } from './operations.ts';
import { testRecording } from './recording.ts';
import { testSendingAgain } from './sending-again.ts';
import { testStats } from './stats.ts';
import { testWork } from './work.ts';

/** A new, empty store; it is closed, and what it needs besides removed, after the test. */
export type MakeStore = (t: TestContext, options: { maxBacklogPerDestination?: number }) => Promise<Store>;

export type MakeScene = (t: TestContext, options?: { maxBacklogPerDestination?: number }) => Promise<Scene>;

/** `propertyRuns`: how often a property that needs a store for itself is tried. */
export function testStore(name: string, makeStore: MakeStore, { propertyRuns }: { propertyRuns: number }): void {
  const makeScene: MakeScene = async (t, options = {}) => {
    const store = await makeStore(t, options);
    return new Scene(store);
  };
  describe(name, () => {
    testConfiguration(makeScene);
    testKeys(makeScene);
    testFollowing(makeScene, propertyRuns);
    testAccepting(makeScene);
    testWork(makeScene);
    testRecording(makeScene);
    testSendingAgain(makeScene);
    testOperations(makeScene);
    testLists(makeScene, propertyRuns);
    testMaintenance(makeScene);
    testStats(makeScene);
    testClocks(makeScene);
    testInterleavings(makeScene, propertyRuns);
  });
}
