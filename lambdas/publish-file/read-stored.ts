import { type Content, type Facts, UNSEEN } from '../../core/gate/facts.ts';
import type { Answer } from '../../core/step/export-run.ts';
import type { Invocation } from '../../core/step/invocation.ts';
import type { Run, RunState, StoredFile } from '../../core/step/states.ts';
import type { Bucket } from '../../core/storage/bucket.ts';
import { contentsOf } from './contents.ts';
import { judgeStored } from './judge-stored.ts';
import { readWhole } from './read-whole.ts';

export async function readStored(
  file: StoredFile,
  run: Pick<Run, 'entity' | 'request' | 'listed' | 'excepted'>,
  state: RunState,
  deps: Invocation & { bucket: Bucket },
): Promise<{ later: Answer<'PublishFile'> } | { facts: Facts; remarks: string[] }> {
  const judged = await judgeStored(file, run, deps);
  const csv = judged.result === 'accepted' && !judged.gzipped ? judged.csv : null;
  const read = await readWhole(file, csv, state, deps);
  if ('later' in read) return read;
  const contents = contentsOf(file, judged, read.pass.scan);
  const { format, compression, dialect, header, empty, width, excepted, rows } = contents;
  const headed = judged.result === 'accepted' ? (judged.csv?.headed ?? null) : null;
  const content: Content = {
    ...UNSEEN,
    ...{ width, excepted, headed, unlisted: headed && header ? 0 : null, irregular: contents.irregular },
    ...{ rows: rows === null ? null : { least: rows, most: rows }, records: read.pass.scan.records },
  };
  const facts: Facts = { bytes: file.bytes, empty, format, compression, dialect, header, content };
  return { facts, remarks: contents.remarks };
}
