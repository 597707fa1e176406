import type { WithId } from '../../core/updates/fast-check.ts';
import { readUpdates } from '../../core/updates/read-updates.ts';
import { isProblem } from '../../core/updates/record-check.ts';
import type { UpdateSource } from './source.ts';

const SAMPLES = 3;
/** Enough of an id to find its line again, too little to look somebody up. */
const SHOWN_OF_ID = 8;

/** The requests that the first records become. Values are hidden unless they are asked for. */
export async function samplesOf(source: UpdateSource, showValues: boolean): Promise<string[]> {
  const samples: string[] = [];
  for await (const entry of readUpdates(source.reader, source.open(), { allowNull: true })) {
    if (isProblem(entry)) continue;
    samples.push(`line ${entry.line}: ${requestText(entry.record, showValues)}`);
    if (samples.length === SAMPLES) break;
  }
  return samples;
}

function requestText({ id, ...fields }: WithId, showValues: boolean): string {
  const shownId = showValues ? id : `${id.slice(0, SHOWN_OF_ID)}…`;
  const shown = showValues
    ? fields
    : Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, mask(value)]));
  return `PATCH /customers/${shownId}\n  ${JSON.stringify(shown)}`;
}

/** That a field is emptied tells nothing about the customer but is what a person wants to see. */
function mask(value: unknown): unknown {
  return value === null ? null : '***';
}
