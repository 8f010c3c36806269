// Loaded into a service's process before anything else: SIGUSR2 sets the clock of its machine an hour ahead, and the
// next one sets it back.
import { isMainThread } from 'node:worker_threads';

const AHEAD_MS = 3_600_000;
const right = Date.now.bind(Date);
let offMs = 0;
Date.now = () => right() + offMs;
if (isMainThread) process.on('SIGUSR2', () => (offMs = AHEAD_MS - offMs));
