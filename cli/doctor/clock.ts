import type { Clock } from '../support/aws-clock.ts';
import { type Check, ok, warning } from './check.ts';

/** Whether this machine and AWS agree about the time. */
export function clockCheck(clock: Clock): Check {
  const offset = clock.offset();
  if (offset === undefined) return ok('clock', 'AWS did not say its time; that of this machine counts.');
  if (offset === 0) return ok('clock', 'This machine and AWS agree about the time.');
  const text = `The clock of this machine is ${Math.round(Math.abs(offset) / 1000)} s ${offset > 0 ? 'slow' : 'fast'}; the time of AWS is used here.`;
  return warning('clock', text, 'Set the clock of this machine; the functions have their own.');
}
