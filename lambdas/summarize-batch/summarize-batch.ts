import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { RunError } from '../shared/errors.ts';
import { crc32Text } from '../shared/files/transfer/crc32.ts';
import type { StepDeps } from '../shared/step.ts';
import type { BatchStore } from '../shared/storage/batch-store.ts';
import { type BatchKeys, keysOf } from '../shared/updates/batch-keys.ts';
import { type BatchManifest, batchManifestText } from '../shared/updates/batch-manifest.ts';
import { type Batch, type BatchState, batchOf } from '../shared/updates/batch-state.ts';
import type { BatchAnswer } from '../shared/updates/batch-step.ts';
import { type Chunk, chunkSchema } from '../shared/updates/chunk-index.ts';
import { createStopFlag, type Stop } from '../shared/updates/stop-flag.ts';
import { joinResults, newTally, type Tally } from './join-results.ts';

export interface SummarizeBatchDeps extends StepDeps {
  store: BatchStore;
}

interface Written {
  bytes: number;
  crc32: number;
}

/**
 * Joins the results of all chunks, and writes the result and its manifest once. Answers SUMMARIZED where every line was
 * applied; anything else ends in `UpdatesIncomplete`, with the result in its place.
 */
export async function summarizeBatch(
  state: BatchState,
  deps: SummarizeBatchDeps,
): Promise<BatchAnswer<'SummarizeBatch'>> {
  const { store, log, now } = deps;
  const batch = batchOf(state);
  const keys = keysOf(batch.batch);
  const stop = (await createStopFlag(store, keys.stop, now).read()) ?? mapEnded(state);
  const tally = newTally();
  const result = await writeResult(store, batch, keys, stop, tally);
  if (tally.records !== batch.records) throw new Error('the index of chunks does not cover the input');

  await writeOnce(store, keys.manifest, batchManifestText(manifestOf(state, batch, keys, { result, tally, stop })));
  log.info('summarized', { batch: batch.batch, lines: tally.records, key: keys.manifest });
  if (tally.counts.APPLIED !== tally.records) throw incomplete(keys, tally, stop);
  return { outcome: 'SUMMARIZED', resultKey: keys.result, manifestKey: keys.manifest, waits: 0 };
}

/** What stopped the lines that nobody came to, where the map itself broke off. Its error may quote data: the name is told. */
function mapEnded({ crash, startedAt }: BatchState): Stop | undefined {
  if (!crash) return undefined;
  const name = /^[\w.]{1,80}$/.test(crash.Error) ? crash.Error : 'an error';
  return { reason: 'StepCrashed', sentence: `The map over the chunks ended with ${name}.`, at: startedAt };
}

async function writeResult(
  store: BatchStore,
  batch: Batch,
  keys: BatchKeys,
  stop: Stop | undefined,
  tally: Tally,
): Promise<Written> {
  const written = { bytes: 0, crc32: 0 };
  const joined = joinResults(store, batch, await readIndex(store, keys), stop, tally);
  const body = Readable.from(measured(joined, written), { objectMode: false });
  if (await store.uploadOnce(keys.result, body, 'application/x-ndjson')) return written;
  const standing = await measureStanding(store, keys.result);
  if (standing.bytes === written.bytes && standing.crc32 === written.crc32) return written;
  throw conflict(keys.result);
}

async function readIndex(store: BatchStore, { chunks }: BatchKeys): Promise<Chunk[]> {
  const text = (await store.read(chunks))?.text;
  if (text === undefined) throw new RunError('StorageConflict', `The index of chunks at ${chunks} is gone.`);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => chunkSchema.parse(JSON.parse(line)));
}

async function* measured(texts: AsyncIterable<string>, written: Written): AsyncGenerator<Buffer> {
  for await (const text of texts) {
    const bytes = Buffer.from(text);
    written.bytes += bytes.length;
    written.crc32 = crc32(bytes, written.crc32);
    yield bytes;
  }
}

async function measureStanding(store: BatchStore, key: string): Promise<Written> {
  const standing = { bytes: 0, crc32: 0 };
  const object = await store.open(key);
  for await (const chunk of object?.body ?? []) {
    standing.bytes += chunk.byteLength;
    standing.crc32 = crc32(chunk, standing.crc32);
  }
  return standing;
}

/** Finding the same bytes there already is success: the step is being repeated. */
async function writeOnce(store: BatchStore, key: string, text: string): Promise<void> {
  if (await store.putOnce(key, text)) return;
  if ((await store.read(key))?.text !== text) throw conflict(key);
}

function conflict(key: string): RunError {
  return new RunError('StorageConflict', `Another content stands at ${key} than this batch would write.`);
}

function manifestOf(
  { execution, startedAt }: BatchState,
  batch: Batch,
  keys: BatchKeys,
  { result, tally, stop }: { result: Written; tally: Tally; stop: Stop | undefined },
): BatchManifest {
  const { bytes, crc32: checksum, lines, records, chunks, maxRate, stopAfterFailures } = batch;
  return {
    schemaVersion: 1,
    batch: batch.batch,
    execution,
    input: { key: batch.inputKey, bytes, crc32: checksum, lines, records },
    result: { key: keys.result, bytes: result.bytes, crc32: crc32Text(result.crc32) },
    chunks,
    counts: tally.counts,
    stoppedBy: stop ? { reason: `${stop.reason}: ${stop.sentence}`, at: stop.at } : null,
    maxRate,
    stopAfterFailures,
    startedAt,
    finishedAt: tally.lastAt ?? startedAt,
    keptUntil: batch.keptUntil,
    softwareVersion: batch.softwareVersion,
    warnings: batch.warnings,
  };
}

function incomplete({ result }: BatchKeys, { counts, records }: Tally, stop: Stop | undefined): RunError {
  const others = Object.entries(counts)
    .filter(([outcome, times]) => outcome !== 'APPLIED' && times > 0)
    .map(([outcome, times]) => `${times} ${outcome}`);
  const why = stop ? ` It was stopped by ${stop.reason}: ${stop.sentence}` : '';
  return new RunError(
    'UpdatesIncomplete',
    `Of ${records} lines ${counts.APPLIED} were applied; ${others.join(', ')}: see ${result}.${why}`,
  );
}
