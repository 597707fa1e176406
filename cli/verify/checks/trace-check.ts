import { BatchGetTracesCommand } from '@aws-sdk/client-xray';
import * as z from 'zod/mini';
import { parseJson } from '../../../core/json.ts';
import type { Check } from '../../checks/check.ts';
import { type Finding, holdsUnless } from '../../checks/finding.ts';
import { lookUntil } from '../base/look-until.ts';
import { RUN_RIGHTS } from '../base/runs.ts';
import type { Verifying } from '../base/verifying.ts';

export const TRACE_CHECK: Check<Verifying> = {
  id: 'traces',
  question: 'Has the trace of that export the machine and every function that it called?',
  rights: [...RUN_RIGHTS, 'xray:BatchGetTraces on `*`: AWS knows no resource for it'],
  makes: true,
  look: traces,
};

/** The machine, and the functions that it called, each by its name. */
async function traces(verifying: Verifying): Promise<Finding> {
  const { target } = verifying;
  const { traceId, steps } = await verifying.runs.published();
  const expected = ['ExportRun', ...steps].map((id) => `${target.stack}-${id}`);
  const look = async () => {
    const seen = await segmentsOf(verifying, traceId);
    return expected.filter((name) => !seen.has(name));
  };
  const missing = await lookUntil(look, (none) => none.length === 0, verifying);
  const wrong = missing.length > 0 ? [`the trace ${traceId} lacks ${missing.join(', ')}`] : [];
  return holdsUnless(wrong, `the trace ${traceId} has the machine and ${expected.length - 1} functions`);
}

const segmentSchema = z.looseObject({ name: z.string() });

async function segmentsOf({ target: { xray } }: Verifying, traceId: string): Promise<Set<string>> {
  const { Traces = [] } = await xray.send(new BatchGetTracesCommand({ TraceIds: [traceId] }));
  const documents = Traces.flatMap(({ Segments = [] }) => Segments.map(({ Document }) => Document));
  return new Set(documents.flatMap((document) => parseJson(segmentSchema, document)?.name ?? []));
}
