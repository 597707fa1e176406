import { isOfRule } from '../../core/export/input.ts';
import type { RunState } from '../../core/step/states.ts';
import { bytesText, countText, durationText } from '../support/text.ts';
import { type EnteredState, positionText } from './executions.ts';
import { hasNoExport, outcomeText, parseState, type Run, readInput } from './run.ts';

/** The history of a run in sentences, one for each phase: consecutive states that serve one purpose. */

type Phase = 'begin' | 'create' | 'check' | 'download' | 'publish' | 'table' | 'end';

interface Moment {
  at: string;
  phase: Phase;
  /** Duration; null for a single moment. */
  seconds: number | null;
  text: string;
}

/** The states of each phase that has a sentence: that of a step, and that of the wait before it. */
const STATES: Partial<Record<Phase, string[]>> = {
  create: ['CreateExport', 'WaitBeforeCreate'],
  check: ['CheckStatus', 'WaitBeforeCheck'],
  download: ['DownloadFile', 'WaitBeforeDownload'],
  publish: ['PublishFile', 'WaitBeforePublish'],
  table: ['WriteTable', 'WaitBeforeTable'],
};

/** Consecutive states of one phase, such as status checks and the waits between them. */
interface PhaseSpan {
  phase: Phase;
  states: EnteredState[];
  /** State data at the end of the span; if the run failed in the last state of the span, the data before that state. */
  after: RunState | undefined;
  /** How often the step itself ran, and for how many seconds. */
  visits: number;
  workSeconds: number;
  seconds: number;
  /** Number of times that each error occurred within the span, such as `answered 503`. */
  faults: Map<string, number>;
}

/**
 * The history of a run, oldest first. The sentences contain counts, ids and keys only.
 * @param output of a successful execution
 */
export function timelineOf(history: EnteredState[], run: Run, output: string | undefined): Moment[] {
  const running = run.outcome === 'running';
  const shown = spansOf(history, run, output).filter(({ phase }) => phase in WORDS);
  const moments = shown.map((span, index): Moment => {
    const { phase, states, seconds, faults } = span;
    const errors = [...faults].map(([fault, count]) => `; ${count} ${fault}`).join('');
    const last = states.at(-1);
    const now = running && last && index === shown.length - 1 ? ` (now in ${positionText(last)})` : '';
    return {
      at: states[0]?.at?.toISOString() ?? run.startedAt,
      phase,
      seconds: Math.round(seconds * 10) / 10,
      text: `${WORDS[phase]?.(span, run) ?? ''}${errors}${now}.`,
    };
  });
  const first = history.find(({ state }) => state !== undefined)?.state;
  return [startMoment(first, run), ...moments, ...(running ? [] : [endMoment(run)])];
}

function spansOf(history: EnteredState[], { endedAt }: Run, output: string | undefined): PhaseSpan[] {
  const spans: PhaseSpan[] = [];
  const end = endedAt === null ? new Date() : new Date(endedAt);
  for (const [index, entered] of history.entries()) {
    const { name, at: from = end, state } = entered;
    const next = history[index + 1];
    // The input of a state is the output of the state before it.
    const after = next ? next.state : parseState(output);
    let span = spans.at(-1);
    const phase = phaseOf(name, span?.phase);
    if (span?.phase !== phase) {
      span = { phase, states: [], after: state, visits: 0, workSeconds: 0, seconds: 0, faults: new Map() };
      spans.push(span);
    }
    const seconds = Math.max(0, (next?.at ?? end).getTime() - from.getTime()) / 1000;
    span.states.push(entered);
    span.after = after ?? span.after;
    span.seconds += seconds;
    if (STATES[phase]?.[0] === name) {
      span.visits += 1;
      span.workSeconds += seconds;
    }
    if (!after?.trouble || after.trouble.count === state?.trouble?.count) continue;
    const fault = faultText(after.trouble);
    span.faults.set(fault, (span.faults.get(fault) ?? 0) + 1);
  }
  return spans;
}

/** The phase of a state. While the CRM provides no file, a run checks the status between two attempts to download. */
function phaseOf(name: string, before: Phase | undefined): Phase {
  const own = (Object.keys(STATES) as Phase[]).find((each) => STATES[each]?.includes(name)) ?? 'end';
  return own === 'check' && before === 'download' ? 'download' : own;
}

function faultText({ error, status }: NonNullable<RunState['trouble']>): string {
  return typeof status === 'number' ? `answered ${status}` : `failed with ${error}`;
}

function startMoment(state: RunState | undefined, { startedAt }: Run): Moment {
  const { date, scheduledFor, json } = readInput(state?.input);
  const due = scheduledFor === undefined ? undefined : new Date(scheduledFor);
  // A rule never names a date. A retry adds the date and keeps the rest of the input.
  const retried = due && date !== undefined;
  const nightly = due && isOfRule(json) && !Number.isNaN(due.getTime());
  const by = nightly ? `the nightly rule, due at ${due.toISOString().slice(11, 16)} UTC` : 'a person or a program';
  return { at: startedAt, phase: 'begin', seconds: null, text: `Started ${retried ? 'again ' : ''}by ${by}.` };
}

const ENDS: Partial<Record<Run['outcome'], string>> = {
  published: 'Published',
  release: 'Published',
  stored: 'Stored',
  table: 'Ended',
  replaced: 'Ended',
  notDue: 'Ended without an export',
  alreadyStarted: 'Ended without an export',
};

const BY_STATUS: Record<string, string> = {
  TIMED_OUT: 'Ended by the time limit of the machine',
  ABORTED: 'Stopped by a person',
};

function endMoment({ outcome, status, error, startedAt, endedAt }: Run): Moment {
  const at = endedAt ?? startedAt;
  const took = durationText((Date.parse(at) - Date.parse(startedAt)) / 1000);
  const text = ENDS[outcome] ?? BY_STATUS[status ?? ''] ?? `Failed with ${error ?? 'an error without a name'}`;
  return { at, phase: 'end', seconds: null, text: `${text}, ${took} after the start.` };
}

const WORDS: Partial<Record<Phase, (span: PhaseSpan, run: Run) => string>> = {
  create: ({ after, visits }, shown) => {
    if (hasNoExport(shown)) return `Requested no export (${outcomeText(shown)})`;
    const tries = visits > 1 ? ` after ${visits} tries` : '';
    const run = after?.run;
    if (!run) return `Requested an export${tries}; none was created`;
    const made = run.adopted === null ? 'created' : `adopted from ${run.adopted}`;
    return `Export ${run.exportId} of ${run.date} ${made}${tries}, with ${countText(run.request.columns.length, 'column')}`;
  },
  check: ({ after, visits, seconds }) => {
    if (visits === 0) return 'Waited before a status check';
    const ready = after?.outcome === 'READY' ? ': the export is ready' : '';
    return `Status: ${countText(visits, 'check')} over ${durationText(seconds)}${ready}`;
  },
  download: ({ after, states, visits, workSeconds }, { error }) => {
    const invocations = countText(visits, 'invocation');
    if (!after?.file) {
      if (error === 'FileRejected') return `The file was rejected after ${invocations}`;
      const why = states.some(({ state }) => state?.outcome === 'NOT_READY') ? ': the file was not ready yet' : '';
      return `The file could not be fetched in ${invocations}${why}`;
    }
    const { bytes } = after.file;
    const rate = workSeconds > 0 ? ` at ${bytesText(Math.round(bytes / workSeconds))}/s` : '';
    return `File downloaded: ${bytesText(bytes)} in ${invocations}${rate}`;
  },
  publish: ({ after }, run) => {
    if (after?.released) return `Checked every byte again, then released ${after.released.run} from quarantine`;
    if (!after?.manifestKey) return unansweredText(run);
    const rows = after.rows === null ? '' : ` and ${countText(after.rows, 'row')}`;
    const stored = after.outcome === 'UNPUBLISHED';
    return `Checked every byte${rows}, then ${stored ? 'wrote its manifest: no pointer names it' : 'published'}`;
  },
  table: ({ after }, { what }) => {
    const { table, outcome } = after ?? {};
    if (outcome === 'SUPERSEDED') return 'Wrote no table: another run is published for the date';
    if (!table) return `The table is not written${what === 'table' ? '' : '; the file is published'}`;
    return `Table of ${table.run} written: ${countText(table.rows, 'row')}, ${bytesText(table.bytes)}`;
  },
};

/** The step of a run without an answer from PublishFile. Only the pointer shows whether the file is published. */
function unansweredText({ outcome, status, readers, run, of }: Run): string {
  if (outcome === 'running') return 'Checks the stored file';
  if (outcome === 'released') return 'Checked the stored file; it was not published until a person released it';
  const named = readers?.ofDate?.run;
  if (named !== undefined && (named === run || named === of))
    return 'Published: the pointer of the date names this file';
  const isUnknown = status === 'ABORTED' && readers === null;
  return isUnknown
    ? 'Checked the stored file; the bucket could not be read, so it is unknown whether it was published'
    : 'Checked the stored file; it was not published';
}
