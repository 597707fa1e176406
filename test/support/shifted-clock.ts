import { ServerResponse } from 'node:http';

/**
 * Loaded by `NODE_OPTIONS=--import`, this gives the process, and the Node processes that it starts, a clock that is
 * CLOCK_SHIFT_MS ahead of the machine's, and ticks on. It is a shift and not a time: processes that start one after the
 * other have one clock. Times of files stay those of the machine.
 */

const shift = Number(process.env.CLOCK_SHIFT_MS ?? 0);
const Machine = Date;
const now = (): number => Machine.now() + shift;

// A proxy, not a class: `Date()` without `new` is a text, and `instanceof` holds for every date.
const Shifted: DateConstructor = new Proxy(Machine, {
  construct: (target, given, asked): Date =>
    Reflect.construct(target, given.length > 0 ? given : [now()], asked === Shifted ? target : asked),
  apply: () => new Machine(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
Machine.prototype.constructor = Shifted;
globalThis.Date = Shifted;

// Node's own servers take the time of the header from the machine. AWS's SDK would take the difference for a wrong clock.
const { writeHead } = ServerResponse.prototype;
ServerResponse.prototype.writeHead = function (this: ServerResponse, ...given: unknown[]) {
  if (this.sendDate && !this.hasHeader('date')) this.setHeader('Date', new Date().toUTCString());
  return Reflect.apply(writeHead, this, given);
};
