import { CloudWatchLogsClient } from '@aws-sdk/client-cloudwatch-logs';
import { S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import { watchFile } from '../../../cli/runs/file-progress.ts';
import { NOTHING_MOVED, type RunState } from '../../../core/step/states.ts';
import { run, runState } from '../../support/builders.ts';
import { type Handler, type Reply, refused, xml } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';

const EXECUTION = 'leads-20261120T020000Z-1a2b3c';
const startedAt = '2026-11-20T02:00:00Z';
const upload = { uploadId: 'u', key: 'k', contentType: 'text/csv', etag: null, size: 96, partBytes: 8 };
const stateWith = (more: Partial<RunState> = {}): RunState =>
  runState({ execution: EXECUTION, startedAt, run: run({ prefix: 'runs/entity=leads/run=1/' }), ...more });
const HANDED_ON = { moving: { ...NOTHING_MOVED, upload, invocations: 1, links: 1 } };

const DENIED = refused('AccessDenied', 'no', { status: 403 });
const BROKEN = refused('InternalError', 'no', { status: 500 });
const open = (id: string, at: string) =>
  `<Upload><Key>runs/leads.csv</Key><UploadId>${id}</UploadId><Initiated>${at}</Initiated></Upload>`;
const line = (fields: object) => JSON.stringify({ level: 'INFO', message: 'moved', execution: EXECUTION, ...fields });

interface Said {
  uploads?: string[];
  /** Sizes of the parts of each upload. */
  parts?: Record<string, number[]>;
  refusal?: Reply | undefined;
  lines?: string[];
  logsRefusal?: Reply | undefined;
}

/** A bucket and a log that answer what is given, and may be given other answers later. */
async function place(said: Said) {
  const listParts: Handler = ({ input }) => {
    const sizes = said.parts?.[String(input.uploadId)] ?? [];
    // Two on a page, as of a thousand.
    const from = Number(input['part-number-marker'] ?? 0);
    const page = sizes
      .slice(from, from + 2)
      .map((size, at) => `<Part><PartNumber>${from + at + 1}</PartNumber><Size>${size}</Size></Part>`);
    const more = from + 2 < sizes.length;
    return xml(
      `<ListPartsResult>${page.join('')}<IsTruncated>${more}</IsTruncated><NextPartNumberMarker>${from + 2}</NextPartNumberMarker></ListPartsResult>`,
    );
  };
  const cloud = await aws(
    { s3: () => said.refusal, FilterLogEvents: () => said.logsRefusal },
    {
      ListMultipartUploads: () =>
        xml(`<ListMultipartUploadsResult>${said.uploads?.join('')}</ListMultipartUploadsResult>`),
      ListParts: listParts,
      FilterLogEvents: () => ({ events: (said.lines ?? []).map((message) => ({ message, timestamp: 1 })) }),
    },
  );
  const target = {
    s3: cloud.client(S3Client),
    logs: cloud.client(CloudWatchLogsClient),
    BucketName: 'bucket',
    downloadLogGroup: '/aws/lambda/crm-export-prod-DownloadFile',
  };
  const callsOf = (service: string) => cloud.calls.filter((call) => call.service === service);
  return { target, bucketCalls: () => callsOf('s3'), logCalls: () => callsOf('logs') };
}

const everyTime = { everyMs: 0 };
const UPLOADS = [open('old', '2026-11-20T02:00:00.000Z'), open('new', '2026-11-20T02:05:00.000Z')];

test('the parts of the newest upload say how far it is, the function how large the file is', async () => {
  const lines = [line({ bytes: 5, totalBytes: 96 }), line({ bytes: 16, totalBytes: 96 })];
  const { target, bucketCalls, logCalls } = await place({
    uploads: UPLOADS,
    parts: { old: [90], new: [8, 8, 8] },
    lines,
  });

  expect(await watchFile(target, everyTime)(stateWith())).toEqual({ bytes: 24, totalBytes: 96 });
  expect(bucketCalls()[0]?.input).toMatchObject({ prefix: 'runs/entity=leads/run=1/' });
  expect(logCalls()[0]?.input).toMatchObject({
    logGroupName: '/aws/lambda/crm-export-prod-DownloadFile',
    filterPattern: `"moved" "${EXECUTION}"`,
  });
  expect(Date.now() - Number(logCalls()[0]?.input.startTime)).toBeLessThan(180_000);
});

test('the state knows the size of a file that was handed on', async () => {
  const { target } = await place({ uploads: UPLOADS, parts: { new: [8] } });

  const watch = watchFile(target, everyTime);

  expect(await watch(stateWith())).toEqual({ bytes: 8, totalBytes: null });
  expect(await watch(stateWith(HANDED_ON))).toEqual({ bytes: 8, totalBytes: 96 });
});

test('a file that begins, or is stored in one call, has no bytes yet', async () => {
  const { target } = await place({});

  expect(await watchFile(target, everyTime)(stateWith())).toBeUndefined();
  expect(await watchFile(target, everyTime)(stateWith({ run: null }))).toBeUndefined();
});

test('lines of another run, and what is no such line, are passed over', async () => {
  const strange = ['', 'START RequestId', '{}', line({ bytes: 'many' }), line({ execution: 'other', bytes: 7 })];
  const { target } = await place({ lines: [line({ bytes: 5, totalBytes: null }), ...strange] });

  expect(await watchFile(target, everyTime)(stateWith())).toEqual({ bytes: 5, totalBytes: null });
});

test('without a right to the logs the parts are enough, and the logs are not asked again', async () => {
  const { target, logCalls } = await place({
    uploads: UPLOADS,
    parts: { new: [8] },
    logsRefusal: DENIED,
  });
  const watch = watchFile(target, everyTime);

  for (const _ of [1, 2, 3]) expect(await watch(stateWith(HANDED_ON))).toEqual({ bytes: 8, totalBytes: 96 });
  expect(logCalls()).toHaveLength(1);
});

test('without a right to the bucket the lines are enough; without any, nothing is said and nothing fails', async () => {
  const said: Said = { refusal: DENIED, lines: [line({ bytes: 5, totalBytes: 96 })] };
  const { target, bucketCalls } = await place(said);
  const watch = watchFile(target, everyTime);

  for (const _ of [1, 2]) expect(await watch(stateWith())).toEqual({ bytes: 5, totalBytes: 96 });
  expect(bucketCalls()).toHaveLength(1);
  said.logsRefusal = DENIED;
  expect(await watch(stateWith())).toBeUndefined();
});

test('what fails once is asked again', async () => {
  const said: Said = {
    refusal: BROKEN,
    logsRefusal: refused('ResourceNotFoundException'),
    uploads: UPLOADS,
    parts: { new: [8] },
  };
  const { target } = await place(said);
  const watch = watchFile(target, everyTime);

  expect(await watch(stateWith())).toBeUndefined();
  Object.assign(said, { refusal: undefined, logsRefusal: undefined, lines: [line({ bytes: 5, totalBytes: 96 })] });
  expect(await watch(stateWith())).toEqual({ bytes: 8, totalBytes: 96 });
});

test('an answer is good for a while, for each look costs calls', async () => {
  const { target, bucketCalls } = await place({ uploads: UPLOADS, parts: { new: [8] } });
  const watch = watchFile(target, { everyMs: 60_000 });

  for (const _ of [1, 2, 3]) expect(await watch(stateWith())).toEqual({ bytes: 8, totalBytes: null });
  expect(bucketCalls()).toHaveLength(2);
});
