import { expect } from 'vitest';
import type { LineOutcome, ResultLine } from '../../../core/batch/batch-results.ts';
import { idAt } from '../../../sandbox/data/records.ts';
import type { FaultInput, Faults } from '../../../sandbox/faults.ts';
import type { LedgerCall } from '../../../sandbox/world.ts';
import { expectTruth } from '../../support/batches.ts';

type Effect = Omit<FaultInput, 'path' | 'customers'>;

/** The CRM's fault for a line, and its expected result. */
export interface LineFault {
  effect: Effect;
  outcome: LineOutcome;
  status: number | null;
  attempts: number;
  /** The number of calls to the CRM. Default: the number of attempts. */
  calls?: number;
}

const FIRST = { calls: [1] };

/** A fault at the first attempt only: the change is applied, with one more attempt. */
export function passing(effect: Effect): LineFault {
  return { effect: { ...FIRST, ...effect }, outcome: 'APPLIED', status: 200, attempts: 2 };
}

export function refusedWith(status: number, body?: Exclude<Effect['answer'], undefined>['body']): LineFault {
  return { effect: { answer: { status, body } }, outcome: 'REJECTED', status, attempts: 1 };
}

export function alwaysInTrouble(status: number): LineFault {
  return { effect: { answer: { status } }, outcome: 'UNKNOWN', status, attempts: 3 };
}

export const neverAnswered: LineFault = { effect: { reset: 'after' }, outcome: 'UNKNOWN', status: null, attempts: 3 };

/** A refused token, which is refreshed within the attempt. */
export const refusedToken: LineFault = {
  ...passing({ answer: { status: 401 } }),
  attempts: 1,
  calls: 2,
};

/** The fault of a line. A tenth of the lines have one: line 5 the first fault, line 15 the second, in turn. */
function faultOf(line: number, faults: LineFault[]): LineFault | undefined {
  return line % 10 === 5 ? faults[Math.floor(line / 10) % faults.length] : undefined;
}

/** Arms the faults for the customers of that many lines (`changes`). */
export function armFaults(sandbox: { faults: Faults }, faults: LineFault[], lines: number): void {
  const numbers = Array.from({ length: lines }, (_, index) => index + 1);
  for (const [fault, hit] of Map.groupBy(numbers, (line) => faultOf(line, faults))) {
    const [first, ...others] = hit.map((line) => idAt('customers', line - 1));
    if (fault && first) sandbox.faults.add({ path: 'update', customers: [first, ...others], ...fault.effect });
  }
}

type CallsById = Map<string, LedgerCall[]>;

/** Expects a true result for every line, after as many calls as it reports. */
export function expectCalls(results: ResultLine[], lines: number, calls: CallsById): void {
  expectTruth(results, lines, ({ id }) => calls.get(id) ?? []);
  for (const { id, outcome, attempts, line } of results) {
    if (outcome !== 'UNKNOWN') expect(calls.get(id)?.length ?? 0, `line ${line}`).toBeGreaterThanOrEqual(attempts);
  }
}

/** Expects each line to end as its fault determines, and all others after one call; no line was sent more often. */
export function expectFaults(results: ResultLine[], faults: LineFault[], calls: CallsById): void {
  const untouched = { outcome: 'APPLIED', status: 200, attempts: 1 };
  const expected = results.map(({ line }) => {
    const { effect: _effect, ...fault } = { effect: {}, ...untouched, calls: undefined, ...faultOf(line, faults) };
    return { line, ...fault, calls: fault.calls ?? fault.attempts };
  });
  const seen = results.map(({ line, outcome, status, attempts, id }) => {
    return { line, outcome, status, attempts, calls: calls.get(id)?.length };
  });
  expect(seen).toEqual(expected);
}
