import { type HistoryEvent, paginateGetExecutionHistory, type SFNClient } from '@aws-sdk/client-sfn';
import { isOfRule } from '../../core/export/input.ts';
import type { RunState } from '../../core/step/states.ts';
import { bytesText, durationText, manyText } from '../support/text.ts';
import { isStay } from './executions.ts';
import { parseState, type Run, readInput } from './run.ts';
import { outcomeText } from './run-words.ts';
import { reasonText, timesText, waitingOf } from './waiting.ts';

export interface Moment {
  at: string;
  phase: Phase;
  /** Duration; null for a single moment. */
  seconds: number | null;
  text: string;
}

/** The history of a run in sentences, oldest first. They contain counts, ids and keys only. */
export function timelineOf(stretches: Stretch[], run: Run): Moment[] {
  const running = run.outcome === 'running';
  const shown = stretches.filter(({ phase }) => phase in WORDS);
  const moments = shown.map((stretch, index): Moment => {
    const current = running && index === shown.length - 1;
    return {
      at: stretch.stays[0]?.from.toISOString() ?? run.startedAt,
      phase: stretch.phase,
      seconds: Math.round(secondsIn(stretch) * 10) / 10,
      text: `${WORDS[stretch.phase]?.(stretch, run) ?? ''}${faultsOf(stretch)}${current ? nowText(stretch) : ''}.`,
    };
  });
  const first = stretches[0]?.stays[0]?.after ?? stretches[1]?.stays[0]?.before;
  return [begun(first, run), ...moments, ...(running ? [] : [ended(run)])];
}

function begun(state: RunState | undefined, { startedAt }: Run): Moment {
  const { date, scheduledFor, given } = readInput(state?.input);
  const due = scheduledFor === undefined ? undefined : new Date(scheduledFor);
  // A rule never names a date. A retry adds the date and keeps the rest of the input.
  const retried = due && date !== undefined;
  const nightly = due && isOfRule(given) && !Number.isNaN(due.getTime());
  const by = nightly ? `the nightly rule, due at ${due.toISOString().slice(11, 16)} UTC` : 'a person or a program';
  return { at: startedAt, phase: 'begin', seconds: null, text: `Started ${retried ? 'again ' : ''}by ${by}.` };
}

const ENDS: Partial<Record<Run['outcome'], string>> = {
  published: 'Published',
  release: 'Published',
  stored: 'Stored',
  table: 'Ended',
  replaced: 'Ended',
  notDue: 'Ended without a job',
  alreadyStarted: 'Ended without a job',
};

function ended({ outcome, status, error, startedAt, endedAt }: Run): Moment {
  const at = endedAt ?? startedAt;
  const took = durationText((Date.parse(at) - Date.parse(startedAt)) / 1000);
  const how: Record<string, string> = {
    TIMED_OUT: 'Ended by the time limit of the machine',
    ABORTED: 'Stopped by a person',
  };
  const text = ENDS[outcome] ?? how[status ?? ''] ?? `Failed with ${error ?? 'an error without a name'}`;
  return { at, phase: 'end', seconds: null, text: `${text}, ${took} after the start.` };
}

const WORDS: Partial<Record<Phase, (stretch: Stretch, run: Run) => string>> = {
  create: (stretch, shown) => {
    const { run } = afterOf(stretch) ?? {};
    if (shown.outcome === 'notDue' || shown.outcome === 'alreadyStarted')
      return `Requested nothing: ${outcomeText(shown)}`;
    const count = staysIn(stretch, 'CreateExport').length;
    const tries = count > 1 ? ` at the ${ordinalText(count)} try` : '';
    if (!run) return `Requested an export${tries}; none was created`;
    const made = run.adopted === null ? 'created' : `adopted from ${run.adopted}`;
    return `Export ${run.exportId} of ${run.date} ${made}${tries}, with ${manyText(run.request.columns.length, 'column')}`;
  },
  check: (stretch) => {
    const checks = staysIn(stretch, 'CheckStatus');
    const first = stretch.stays[0]?.before?.checks === 0;
    if (checks.length === 0) return `Waited before the ${first ? 'first' : 'next'} look at the status`;
    const last = checks.at(-1)?.after?.outcome;
    const ready = last === 'READY' ? '; the export is ready' : last === 'FAILED' ? '; the run ended there' : '';
    const looks = [manyText(checks.length, 'look'), ...outlivedBy(stretch)].join(', ');
    const comma = looks.includes(',') ? ',' : '';
    return `Status: ${looks}${comma} over ${durationText(secondsIn(stretch))}${ready}`;
  },
  download: (stretch) => {
    const after = afterOf(stretch);
    const invocations = manyText(staysIn(stretch, 'DownloadFile').length, 'invocation');
    const seconds = secondsIn(stretch, 'DownloadFile');
    if (!after?.file)
      return `The file could not be fetched in ${invocations}${after?.outcome === 'NOT_READY' ? ': it was not there yet' : ''}`;
    const { bytes } = after.file;
    const rate = seconds > 0 ? ` at ${bytesText(Math.round(bytes / seconds))}/s` : '';
    return `File moved: ${bytesText(bytes)} in ${invocations}${rate}`;
  },
  publish: (stretch, run) => {
    const after = afterOf(stretch);
    if (after?.released) return `Checked every byte again, then released ${after.released.run} from quarantine`;
    if (!after?.manifestKey) return unansweredText(run);
    const rows = after.rows === null ? '' : ` and ${manyText(after.rows, 'row')}`;
    const stored = after.outcome === 'UNPUBLISHED';
    return `Checked every byte${rows}, then ${stored ? 'described it: no pointer names it' : 'published'}`;
  },
  table: (stretch) => {
    const { table, outcome } = afterOf(stretch) ?? {};
    if (outcome === 'SUPERSEDED') return 'Wrote no table: another run is published for the date';
    if (!table) return 'The table is not written; the file is published';
    return `Table of ${table.run} written: ${manyText(table.rows, 'row')}, ${bytesText(table.bytes)}`;
  },
};

/** PublishFile gave no answer: a stopped run may be published nevertheless, and only the pointer shows it. */
function unansweredText({ outcome, status, readers, run, of }: Run): string {
  if (outcome === 'running') return 'Checks the stored file';
  const named = readers?.ofDate?.run;
  if (named !== undefined && (named === run || named === of))
    return 'Published: the pointer of the date names this file';
  const isUnknown = status === 'ABORTED' && readers === null;
  return isUnknown
    ? 'Checked the stored file; the bucket could not be read, so it is not known whether it was published'
    : 'Checked the stored file; it was not published';
}

/** `2nd`, `92nd`, `111th` */
function ordinalText(count: number): string {
  return `${count}${ORDINALS[new Intl.PluralRules('en', { type: 'ordinal' }).select(count)] ?? 'th'}`;
}

const ORDINALS: Partial<Record<Intl.LDMLPluralRule, string>> = { one: 'st', two: 'nd', few: 'rd' };

/** Errors that a later attempt overcame: `2 answered 503`. `faultsOf` reports errors that last until the end. */
function outlivedBy(stretch: Stretch): string[] {
  if (afterOf(stretch)?.trouble) return [];
  const faults = new Map<string, number>();
  for (const { name, before, after } of stretch.stays) {
    const { status, error } = after?.trouble ?? {};
    if (!error || name.startsWith('WaitBefore') || after?.trouble?.count === before?.trouble?.count) continue;
    const text = typeof status === 'number' ? `answered ${status}` : `failed with ${error}`;
    faults.set(text, (faults.get(text) ?? 0) + 1);
  }
  return [...faults].map(([text, count]) => `${count} ${text}`);
}

/** The errors of a stretch: those that last until its end, otherwise those that were overcome and are not shown yet. */
function faultsOf(stretch: Stretch): string {
  const { trouble, outcome } = afterOf(stretch) ?? {};
  // The errors of a refused file are shown in the stretch that fetches the file.
  if (outcome === 'READY') return '';
  const state = stretch.phase === 'check' ? 'WaitBeforeCheck' : '';
  if (trouble) return `, ${reasonText({ state, trouble })}`;
  return stretch.phase === 'check'
    ? ''
    : outlivedBy(stretch)
        .map((text) => `; ${text}`)
        .join('');
}

function nowText({ stays }: Stretch): string {
  const { name = '', from, before } = stays.at(-1) ?? {};
  const waiting = waitingOf({ name, at: from, state: before });
  return ` (now in ${name}${waiting ? `; ${timesText(waiting)}` : ''})`;
}

/** The state data at the end of the stretch. */
function afterOf({ stays }: Stretch): RunState | undefined {
  return stays.findLast(({ after }) => after !== undefined)?.after ?? stays.at(-1)?.before;
}

function staysIn({ stays }: Stretch, name: string): Stay[] {
  return stays.filter((stay) => stay.name === name);
}

export type Phase = 'begin' | 'create' | 'check' | 'download' | 'publish' | 'table' | 'changes' | 'end';

/** A stay in one state of the machine. */
interface Stay {
  name: string;
  from: Date;
  /** When the run entered the next state or ended; now, if it still stays. */
  to: Date;
  /** State data before and after the stay; the last stay of a failed run has no `after`. */
  before: RunState | undefined;
  after: RunState | undefined;
}

/** Consecutive stays for one purpose, such as status checks and the waits between them. */
export interface Stretch {
  phase: Phase;
  stays: Stay[];
}

const PHASES: Record<string, Phase> = {
  BeginRun: 'begin',
  CreateExport: 'create',
  WaitBeforeCreate: 'create',
  CheckStatus: 'check',
  WaitBeforeCheck: 'check',
  DownloadFile: 'download',
  WaitBeforeDownload: 'download',
  PublishFile: 'publish',
  WaitBeforePublish: 'publish',
  WriteTable: 'table',
  WaitBeforeTable: 'table',
  WriteChanges: 'changes',
  WaitBeforeChanges: 'changes',
};

export async function historyOf(client: SFNClient, executionArn: string): Promise<HistoryEvent[]> {
  const all: HistoryEvent[] = [];
  const wanted = { executionArn, includeExecutionData: true };
  for await (const { events = [] } of paginateGetExecutionHistory({ client }, wanted)) all.push(...events);
  return all;
}

/** @param end when the execution ended, or now; @param output of a successful execution */
export function stretchesOf(events: HistoryEvent[], end: Date, output: string | undefined): Stretch[] {
  // Events of entering a state are enough, and every engine writes them: the input of a state is the output of the
  // state before it.
  const entered = events
    .filter(isStay)
    .flatMap(({ timestamp, stateEnteredEventDetails: details }) =>
      timestamp && details?.name ? [{ name: details.name, at: timestamp, state: parseState(details.input) }] : [],
    );
  const stretches: Stretch[] = [];
  entered.forEach(({ name, at, state }, index) => {
    const next = entered[index + 1];
    const phase = PHASES[name] ?? 'end';
    const after = next ? next.state : parseState(output);
    const stay = { name, from: at, to: next?.at ?? end, before: state, after };
    const last = stretches.at(-1);
    if (last?.phase === phase) last.stays.push(stay);
    else stretches.push({ phase, stays: [stay] });
  });
  return stretches;
}

/** Seconds in the states of a name, or in all states. */
function secondsIn({ stays }: Stretch, name?: string): number {
  const wanted = stays.filter((stay) => name === undefined || stay.name === name);
  return wanted.reduce((sum, { from, to }) => sum + Math.max(0, to.getTime() - from.getTime()), 0) / 1000;
}
