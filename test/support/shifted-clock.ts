import { ServerResponse } from 'node:http';

/**
 * Shifts the clock of a process and its Node children by CLOCK_SHIFT_MS when loaded by `NODE_OPTIONS=--import`. The
 * clock keeps ticking. A shift, unlike a fixed time, gives one clock to processes that start one after another. Times
 * of files stay those of the machine.
 */

const shift = Number(process.env.CLOCK_SHIFT_MS ?? 0);
const Machine = Date;
const now = (): number => Machine.now() + shift;

// A proxy, not a class: `Date()` without `new` returns a text, and `instanceof` holds for every date.
const Shifted: DateConstructor = new Proxy(Machine, {
  construct: (target, given, asked): Date =>
    Reflect.construct(target, given.length > 0 ? given : [now()], asked === Shifted ? target : asked),
  apply: () => new Machine(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
Machine.prototype.constructor = Shifted;
globalThis.Date = Shifted;

// Node's servers take the Date header from the machine's clock. The AWS SDK would correct its clock by the difference.
const { writeHead } = ServerResponse.prototype;
ServerResponse.prototype.writeHead = function (this: ServerResponse, ...given: unknown[]) {
  if (this.sendDate && !this.hasHeader('date')) this.setHeader('Date', new Date().toUTCString());
  return Reflect.apply(writeHead, this, given);
};
