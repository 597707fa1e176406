import { run, runState, storedFile } from '../../support/builders.ts';
import type { Execution } from './cloud/executions.ts';

const at = (time: string) => `2026-11-20T${time}.000Z`;

/** The input and the states of the run below. */
export const input = { entity: 'leads', scheduledFor: at('01:00:00') };
export const begun = runState({ input, checks: 0, run: run({ prefix: 'runs/entity=leads/run=leads-night/' }) });
export const ready = { ...begun, checks: 2, outcome: 'READY' };
export const stored = { ...ready, outcome: 'STORED', file: storedFile({ bytes: 96_000_000 }) };

export const LEADS_MANIFEST = 'runs/entity=leads/run=leads-night/_manifest.json';

/** A run whose create succeeded at the second attempt, with two status checks and two invocations for the file. */
export function leadsNight(warningCount = 0): Execution {
  const published = { ...stored, outcome: 'PUBLISHED', manifestKey: LEADS_MANIFEST, rows: 240, warningCount };
  return {
    name: 'leads-night',
    status: 'SUCCEEDED',
    input,
    start: at('01:00:00'),
    stop: at('01:02:00'),
    output: JSON.stringify(published),
    entered: [
      ['BeginRun', at('01:00:00'), input],
      ['CreateExport', at('01:00:00'), runState({ input, checks: 0, run: null })],
      ['WaitBeforeCreate', at('01:00:01'), runState({ input, run: null })],
      ['CreateExport', at('01:00:11'), runState({ input, run: null })],
      ['WaitBeforeCheck', at('01:00:12'), begun],
      ['CheckStatus', at('01:00:27'), begun],
      ['WaitBeforeCheck', at('01:00:27'), { ...begun, checks: 1, outcome: 'PENDING' }],
      ['CheckStatus', at('01:00:50'), { ...begun, checks: 1, outcome: 'PENDING' }],
      ['DownloadFile', at('01:00:50'), ready],
      ['WaitBeforeDownload', at('01:01:20'), { ...ready, outcome: 'CONTINUE' }],
      ['DownloadFile', at('01:01:21'), { ...ready, outcome: 'CONTINUE' }],
      ['PublishFile', at('01:01:51'), stored],
      ['ExportPublished', at('01:02:00'), published],
    ],
  };
}
