import type { InvokedName } from '../../core/step/steps.ts';

/** The purpose of a call. It decides the effect of its faults (`predictions.ts`). */
export type Kind =
  /** Reads secrets or the ledger: without them there is no token. */
  | 'grant'
  /** A record that no step depends on. */
  | 'note'
  | 'refresh'
  /** Stores the successor of the refresh token. */
  | 'store grant'
  /** A call to the CRM before there is an export. */
  | 'fields'
  | 'create'
  /** A call to the CRM about an export. */
  | 'export'
  /** A call to the CRM about the export of another run. */
  | 'adoption'
  /** Fetches the file from its signed address. */
  | 'file'
  | 'change'
  /** Reads an object that no night needs. */
  | 'comparison'
  /** Reads an object that is used only if its content is valid. */
  | 'hint'
  /** Lists objects. */
  | 'list'
  /** Reads an object that this execution or the one before it wrote. */
  | 'object'
  /** Reads an object whose size and tag, or whose text, are known before. */
  | 'known object'
  /** Reads the metadata of an object, without its content. */
  | 'head'
  /** Reads the file of a person. */
  | 'input'
  /** Reads an object that a person may put there, with any content. */
  | 'flag'
  | 'write'
  /** Writes an object after checking what is there. */
  | 'write anew'
  /** Tags an object, and repeats it after a lost answer. */
  | 'tag'
  | 'begin upload'
  /** Stores the file, a part of it, or the table made from it. */
  | 'content'
  /** Stores a part of a file on the disk. If one part is lost, all parts are sent again. */
  | 'part'
  /** Combines the parts into an object. */
  | 'complete';

/** The executions in which the calls are made. */
export const SCENARIOS = {
  night: 'a run that a rule starts, with an access token past its end, on the day after another',
  'large file': 'the same, with a file that is stored in parts',
  retry: 'a run that takes the export of a failed one',
  release: 'an execution that publishes a file that a check has stopped',
  table: 'a run of an entity that has a table, with a hashed column',
  changes: 'a run of an entity that has feeds of changes, which compares its table with that of the day before',
  'large feed': 'the same, where the chain begins anew, and copy and feed are stored in parts',
  batch: 'a batch of three changes, with an access token past its end',
  'stopped batch': 'a batch that stops at its first refused change',
} as const;
export type Scenario = keyof typeof SCENARIOS;

export interface Call {
  scenario: Scenario;
  step: InvokedName;
  call: string;
  kind: Kind;
}

/** The calls before a call to the CRM with an expired access token. */
const REFRESH: Record<string, Kind> = {
  'read the grant': 'grant',
  'look for a newer grant': 'grant',
  'claim the refresh': 'grant',
  'read the OAuth client': 'grant',
  'refresh the grant': 'refresh',
  'store the grant': 'store grant',
  'note the refresh': 'note',
};

/** Calls of a step whose failure the run only notes. */
const notes = (...calls: string[]) => Object.fromEntries(calls.map((call): [string, Kind] => [call, 'note']));

/** Every call of every step, in the order of first use. A scenario lists only calls that earlier scenarios lack. */
const LISTED: Record<Scenario, Partial<Record<InvokedName, Record<string, Kind>>>> = {
  night: {
    CreateExport: {
      'claim the start': 'grant',
      ...REFRESH,
      'read the fields': 'fields',
      'read latest.json': 'comparison',
      'read the manifest': 'comparison',
      'create the export': 'create',
      'record the export': 'note',
    },
    CheckStatus: { 'read the grant': 'grant', 'read the status': 'export' },
    DownloadFile: {
      'read the grant': 'grant',
      'request the link': 'export',
      'fetch the file': 'file',
      'write the file': 'content',
    },
    PublishFile: {
      'read the file': 'object',
      'list the published dates': 'list',
      'read the pointer of a date': 'object',
      'read the manifest': 'hint',
      'read latest.json': 'object',
      'write the manifest': 'write',
      'tag the file': 'tag',
      'tag the manifest': 'tag',
      'write the pointer of a date': 'write anew',
      'write latest.json': 'write anew',
    },
    // The check records what a run does not record now: no run depends on it.
    RecordNight: notes('read the night', 'read the pointer of a date', 'read the manifest', 'write the night'),
  },
  'large file': {
    DownloadFile: {
      'fetch the file': 'file',
      'begin to upload the file': 'begin upload',
      'upload a part of the file': 'content',
      'complete the file': 'complete',
    },
  },
  retry: {
    CreateExport: {
      'adopt an export': 'grant',
      'read the pointer of a date': 'comparison',
      'read the status': 'adoption',
    },
  },
  release: {
    PublishFile: { 'read the manifest': 'object', 'write the release': 'write' },
  },
  table: {
    WriteTable: {
      'read the manifest': 'object',
      'read the pointer of a date': 'object',
      'read latest.json': 'object',
      'check the table': 'head',
      'read the hash key': 'grant',
      'read the file': 'object',
      'write the table': 'content',
    },
    RecordNight: notes('check the table', 'announce the night'),
  },
  changes: {
    WriteChanges: {
      'read the head of the feeds': 'object',
      'read latest.json': 'object',
      'check the table': 'head',
      'check a copy of the table': 'head',
      'read the table': 'known object',
      'write a copy of the table': 'write anew',
      'read a copy of the table': 'known object',
      'write the head of the feeds': 'write anew',
      'check the feed': 'head',
      'write the feed': 'write anew',
      'read the record of the feed': 'known object',
      'write the record of the feed': 'write anew',
    },
    RecordNight: notes('check the feed'),
  },
  'large feed': {
    WriteChanges: {
      'begin to upload a copy of the table': 'begin upload',
      'upload a part of a copy of the table': 'part',
      'complete a copy of the table': 'write anew',
      'begin to upload the feed': 'begin upload',
      'upload a part of the feed': 'part',
      'complete the feed': 'write anew',
    },
  },
  batch: {
    ValidateBatch: {
      'read the input': 'input',
      'write the claim of the batch': 'write',
      'write the index of chunks': 'write',
    },
    ApplyChunk: {
      'list the results': 'list',
      'read the input': 'object',
      'write the claim of a part': 'write',
      'read the stop flag': 'flag',
      ...REFRESH,
      'send a change': 'change',
      'write the results of a part': 'write anew',
    },
    SummarizeBatch: {
      'list the results': 'list',
      'read the stop flag': 'hint',
      'read the index of chunks': 'object',
      'read the claim of a part': 'object',
      'read the results of a part': 'object',
      'read the input': 'object',
      'write the result': 'write',
      'write the manifest of the batch': 'write',
    },
  },
  'stopped batch': {
    ApplyChunk: { 'write the failures': 'write', 'list the failures': 'list', 'write the stop flag': 'write' },
  },
};

export const CALLS: Call[] = Object.entries(LISTED).flatMap(([scenario, steps]) =>
  Object.entries(steps).flatMap(([step, calls]) =>
    Object.entries(calls).map(([call, kind]) => ({ scenario, step, call, kind }) as Call),
  ),
);
