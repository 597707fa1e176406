import { CALLS, type Call } from './calls.ts';
import { type End, FAULTS, type Fault, predict, SPANS, type Span } from './predictions.ts';

/** One fault of one call, and how its execution ends. */
export interface Row extends Call {
  fault: Fault;
  span: Span;
  end: End;
}

/** Every call with every fault, once and always. */
export const ROWS: Row[] = CALLS.flatMap((call) =>
  SPANS.flatMap((span) => FAULTS.map((fault) => ({ ...call, fault, span, end: predict(call, fault, span) }))),
);
