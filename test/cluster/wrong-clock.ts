// Loaded into a service's process before anything else: the clock of its machine is wrong by so many milliseconds.
const offMs = Number(process.env['WRONG_CLOCK_MS']);
const right = Date.now.bind(Date);
Date.now = () => right() + offMs;
