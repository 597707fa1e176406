import { expect, test } from 'vitest';
import { watchFile } from '../../../cli/runs/follow.ts';
import { NOTHING_MOVED, type RunState } from '../../../core/step/states.ts';
import { runState } from '../../support/builders.ts';
import { type Reply, refused } from '../support/cloud/answers.ts';
import { aws } from '../support/cloud/cloud.ts';

const EXECUTION = 'leads-20261120T020000Z-1a2b3c';
const upload = { uploadId: 'u', key: 'k', contentType: 'text/csv', etag: null, size: 96, partBytes: 8 };
const stateWith = (more: Partial<RunState> = {}): RunState => runState({ execution: EXECUTION, ...more });
const HANDED_ON = { moving: { ...NOTHING_MOVED, upload, invocations: 1, links: 1 } };
const DENIED = refused('AccessDenied', 'no', { status: 403 });
const line = (fields: object) => JSON.stringify({ level: 'INFO', message: 'moved', execution: EXECUTION, ...fields });
const everyTime = { everyMs: 0 };

/** A log with these answers, which the test may replace later. */
async function place(said: { refusal?: Reply | undefined; lines?: string[] }) {
  const cloud = await aws({
    FilterLogEvents: () => said.refusal ?? { events: (said.lines ?? []).map((message) => ({ message, timestamp: 1 })) },
  });
  const logCalls = () => cloud.calls.filter(({ service }) => service === 'logs');
  return { target: cloud.target, logCalls };
}

test('the newest line of the run says how far its file is, and how large', async () => {
  const lines = [line({ bytes: 5, totalBytes: 96 }), line({ bytes: 16, totalBytes: 96 })];
  const { target, logCalls } = await place({ lines });

  expect(await watchFile(target, everyTime)(stateWith())).toEqual({ bytes: 16, totalBytes: 96 });
  expect(logCalls()[0]?.input).toMatchObject({
    logGroupName: '/aws/lambda/crm-export-test-DownloadFile',
    filterPattern: `"moved" "${EXECUTION}"`,
  });
  expect(Date.now() - Number(logCalls()[0]?.input.startTime)).toBeLessThan(180_000);
});

test('the state knows the size of a file that was handed on', async () => {
  const { target } = await place({ lines: [line({ bytes: 8, totalBytes: null })] });
  const watch = watchFile(target, everyTime);

  expect(await watch(stateWith())).toEqual({ bytes: 8, totalBytes: null });
  expect(await watch(stateWith(HANDED_ON))).toEqual({ bytes: 8, totalBytes: 96 });
});

test('a file that begins has no bytes yet', async () => {
  const { target } = await place({});

  expect(await watchFile(target, everyTime)(stateWith())).toBeUndefined();
});

test('lines of another run, and what is no such line, are passed over', async () => {
  const strange = ['', 'START RequestId', '{}', line({ bytes: 'many' }), line({ execution: 'other', bytes: 7 })];
  const { target } = await place({ lines: [line({ bytes: 5, totalBytes: null }), ...strange] });

  expect(await watchFile(target, everyTime)(stateWith())).toEqual({ bytes: 5, totalBytes: null });
});

test('without a right to the logs nothing is known, and they are not asked again', async () => {
  const { target, logCalls } = await place({ refusal: DENIED });
  const watch = watchFile(target, everyTime);

  for (const _ of [1, 2, 3]) expect(await watch(stateWith(HANDED_ON))).toBeUndefined();
  expect(logCalls()).toHaveLength(1);
});

test('what fails once is asked again', async () => {
  const said: Parameters<typeof place>[0] = { refusal: refused('ResourceNotFoundException') };
  const { target } = await place(said);
  const watch = watchFile(target, everyTime);

  expect(await watch(stateWith())).toBeUndefined();
  Object.assign(said, { refusal: undefined, lines: [line({ bytes: 5, totalBytes: 96 })] });
  expect(await watch(stateWith())).toEqual({ bytes: 5, totalBytes: 96 });
});

test('an answer is good for a while, for each look costs calls', async () => {
  const { target, logCalls } = await place({ lines: [line({ bytes: 8, totalBytes: 96 })] });
  const watch = watchFile(target, { everyMs: 60_000 });

  for (const _ of [1, 2, 3]) expect(await watch(stateWith())).toEqual({ bytes: 8, totalBytes: 96 });
  expect(logCalls()).toHaveLength(1);
});
