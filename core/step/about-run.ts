import type { RunFields } from '../log/log-fields.ts';
import { requestedEntity } from './pacing.ts';
import type { RunState } from './states.ts';

/** What every line of the log says of the run that it is about. */
export function aboutRun({ run, input, execution }: RunState): RunFields {
  return { entity: run?.entity ?? requestedEntity(input), execution, exportId: run?.exportId };
}
