import { CALLS, type Call, SCENARIOS } from './calls.ts';
import { FAULTS, type Fault, SPANS, type Span } from './faults.ts';
import { type End, predict } from './predictions.ts';

/** One fault of one call, and how its execution ends. */
export interface Row extends Call {
  fault: Fault;
  span: Span;
  end: End;
}

const faults = Object.keys(FAULTS) as Fault[];

export const ROWS: Row[] = CALLS.flatMap((call) =>
  SPANS.flatMap((span) => faults.map((fault) => ({ ...call, fault, span, end: predict(call, fault, span) }))),
);

/** The generated part of docs/design/faults.md. */
export function faultTables(): string {
  const count = `${ROWS.length} rows: ${CALLS.length} calls, ${faults.length} faults, once and always.`;
  const meanings = Object.entries(FAULTS).map(([fault, meaning]) => `- **${fault}**: ${meaning}`);
  const tables = Object.entries(SCENARIOS).flatMap(([scenario, what]) => {
    return [
      `## ${what.charAt(0).toUpperCase()}${what.slice(1)}`,
      callTable(CALLS.filter((call) => call.scenario === scenario)),
    ];
  });
  return [count, meanings.join('\n'), ...tables].join('\n\n');
}

function callTable(calls: Call[]): string {
  const head = ['Step', 'Call', ...faults];
  const lines = calls.map((call) => [call.step, call.call, ...faults.map((fault) => cell(call, fault))]);
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function cell(call: Call, fault: Fault): string {
  const [once, always] = SPANS.map((span) => predict(call, fault, span));
  const shown = (end: End | undefined) => (end === 'well' ? '✓' : String(end));
  return once === always ? shown(once) : `${shown(once)}; ${shown(always)}`;
}
