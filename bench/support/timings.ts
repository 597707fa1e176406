import { GetExecutionHistoryCommand, type HistoryEvent } from '@aws-sdk/client-sfn';
import type { Target } from '../../cli/support/target.ts';

/** Times from the history of a run, in seconds. */
export interface Timings {
  /** From the answer that the export is processed to the end of the run. */
  afterReady: number;
  /** Of these, inside the functions DownloadFile and PublishFile, the call and its way included. */
  download: number;
  publish: number;
}

export async function timingsOf({ sfn }: Pick<Target, 'sfn'>, executionArn: string): Promise<Timings> {
  const { events = [] } = await sfn.send(new GetExecutionHistoryCommand({ executionArn, maxResults: 1000 }));
  const ready = at(events, (event) => event.stateExitedEventDetails?.name === 'CheckStatus');
  const end = at(events, (event) => event.type === 'ExecutionSucceeded');
  return {
    afterReady: (end - ready) / 1000,
    download: spent(events, 'DownloadFile'),
    publish: spent(events, 'PublishFile'),
  };
}

function spent(events: HistoryEvent[], state: string): number {
  const entered = at(events, (event) => event.stateEnteredEventDetails?.name === state);
  return (at(events, (event) => event.stateExitedEventDetails?.name === state) - entered) / 1000;
}

/** Time of the last event that fits, in milliseconds. */
function at(events: HistoryEvent[], fits: (event: HistoryEvent) => boolean): number {
  return events.findLast(fits)?.timestamp?.getTime() ?? Number.NaN;
}
