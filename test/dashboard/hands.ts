// The two ways in which people move through a page. A journey that is written for a hand is walked by either.
import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';

export type Hand = {
  name: string;
  press(target: Locator): Promise<void>;
  choose(target: Locator, label: string): Promise<void>;
  write(target: Locator, text: string): Promise<void>;
  /** In a combobox: `text` is written, and what it leads to chosen. */
  find(target: Locator, text: string, option: string): Promise<void>;
};

/** More than any page of the journeys has to stop at. */
const STEPS_MAX = 150;

export const mouse: Hand = {
  name: 'by mouse',
  press: (target) => target.click(),
  choose: async (target, label) => void (await target.selectOption(label)),
  write: (target, text) => target.fill(text),
  find: async (target, text, option) => {
    await target.fill(text);
    await target.page().getByRole('option', { name: option }).click();
  },
};

/** Tab, Enter, and what one types: nothing else is known of the page than where the focus is. */
export const keyboard: Hand = {
  name: 'with the keyboard alone',
  press: async (target) => {
    await walkTo(target);
    await target.page().keyboard.press('Enter');
  },
  choose: async (target, label) => {
    await walkTo(target);
    await target.page().keyboard.type(label);
    await target.page().keyboard.press('Enter');
  },
  write: async (target, text) => {
    await walkTo(target);
    await target.page().keyboard.press('Control+A');
    await target.page().keyboard.insertText(text);
  },
  find: async (target, text, option) => {
    await keyboard.write(target, text);
    const page = target.page();
    const wanted = page.getByRole('option', { name: option });
    await wanted.waitFor();
    const isHighlighted = wanted.and(page.locator('[data-highlighted]'));
    for (let step = 0; (await isHighlighted.count()) === 0; step++) {
      assert.ok(step < STEPS_MAX, `${option} is not reached by an arrow key`);
      await page.keyboard.press('ArrowDown');
    }
    await page.keyboard.press('Enter');
  },
};

type Place = 'here' | 'before' | 'after';

async function walkTo(target: Locator): Promise<void> {
  await target.waitFor();
  for (let step = 0; step < STEPS_MAX; step++) {
    const place = await target.evaluate((element): Place => {
      const focused = element.ownerDocument.activeElement;
      if (focused === element) return 'here';
      // DOCUMENT_POSITION_PRECEDING
      return focused !== null && (focused.compareDocumentPosition(element) & 2) !== 0 ? 'before' : 'after';
    });
    if (place === 'here') return assertVisible(target.page());
    await target.page().keyboard.press(place === 'before' ? 'Shift+Tab' : 'Tab');
  }
  assert.fail(`${String(target)} is not reached by Tab`);
}

/** That who looks at the page sees where the focus is. */
export async function assertVisible(page: Page): Promise<void> {
  const hidden = await page.evaluate(HIDDEN_FOCUS);
  assert.equal(hidden, null, 'the focus is not to be seen');
}

/** What has the focus and does not show it, null where there is no such thing. As text, for it is run in the page. */
const HIDDEN_FOCUS = `(() => {
  const focused = document.activeElement;
  if (focused === null || focused === document.body) return null;
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(focused);
  const box = focused.getBoundingClientRect();
  const isMarked = (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none';
  const isInView = box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
  return isMarked && isInView ? null : focused.outerHTML.slice(0, 200);
})()`;
