import { paginateFilterLogEvents } from '@aws-sdk/client-cloudwatch-logs';
import { ListMultipartUploadsCommand, ListPartsCommand } from '@aws-sdk/client-s3';
import * as z from 'zod/mini';
import { parseJson } from '../../core/json.ts';
import type { RunState } from '../../core/step/states.ts';
import type { Target } from '../support/target.ts';

/** Tells how far the file is. It never throws, and is `undefined` where nothing can be read. */
export type FileProgress = (state: RunState) => Promise<Moved | undefined>;
interface Moved {
  bytes: number;
  /** `null` as long as it is not known. */
  totalBytes: number | null;
}

type ProgressSources = Pick<Target, 's3' | 'BucketName' | 'logs' | 'downloadLogGroup'>;

/** Logged every five seconds while a file moves; older lines are of a stalled file, or of another. */
const LINES_OF_SECONDS = 120;
const movedSchema = z.object({
  message: z.literal('moved'),
  execution: z.string(),
  bytes: z.number(),
  totalBytes: z.nullish(z.number()),
});

/**
 * Watches the file of one run while it moves, by the stored parts (newer) and the log lines `moved` (which know the size).
 * Each of the two is left out without the right to it.
 * @param everyMs how long an answer is kept: every look is a few calls
 */
export function watchFile(target: ProgressSources, { everyMs }: { everyMs: number }): FileProgress {
  const parts = unlessDenied((state) => storedBytes(target, state));
  const lines = unlessDenied((state) => lastLine(target, state.execution));
  let known: { until: number; moved: Moved | undefined } = { until: 0, moved: undefined };
  return async (state) => {
    if (performance.now() < known.until) return known.moved;
    const [stored, line] = await Promise.all([parts(state), lines(state)]);
    const bytes = stored ?? line?.bytes;
    const totalBytes = line?.totalBytes ?? state.moving?.upload?.size ?? null;
    known = { until: performance.now() + everyMs, moved: bytes === undefined ? undefined : { bytes, totalBytes } };
    return known.moved;
  };
}

/** A look that is denied is not tried again. */
function unlessDenied<T>(look: (state: RunState) => Promise<T | undefined>) {
  let denied = false;
  return async (state: RunState): Promise<T | undefined> => {
    if (denied) return undefined;
    try {
      return await look(state);
    } catch (error) {
      denied = error instanceof Error && /AccessDenied|UnauthorizedOperation|Forbidden/.test(error.name);
      return undefined;
    }
  };
}

/** Bytes in the parts of the run's newest upload. A small file has none: it is stored in one call. */
async function storedBytes(
  { s3, BucketName: Bucket }: ProgressSources,
  { run }: RunState,
): Promise<number | undefined> {
  if (!run) return undefined;
  const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: run.prefix }));
  const begun = ({ Initiated }: { Initiated?: Date | undefined }) => Initiated?.getTime() ?? 0;
  const newest = Uploads.toSorted((a, b) => begun(b) - begun(a))[0];
  if (!newest) return undefined;
  let bytes = 0;
  const upload = { Bucket, Key: newest.Key, UploadId: newest.UploadId };
  // The SDK's paginator would not end here: the last page names a next one too.
  for (let PartNumberMarker: string | undefined; ; ) {
    const page = await s3.send(new ListPartsCommand({ ...upload, PartNumberMarker }));
    bytes += (page.Parts ?? []).reduce((sum, { Size = 0 }) => sum + Size, 0);
    if (!page.IsTruncated) return bytes;
    PartNumberMarker = page.NextPartNumberMarker;
  }
}

async function lastLine({ logs, downloadLogGroup }: ProgressSources, execution: string) {
  const wanted = {
    logGroupName: downloadLogGroup,
    filterPattern: `"moved" "${execution}"`,
    startTime: Date.now() - LINES_OF_SECONDS * 1000,
  };
  let last: z.infer<typeof movedSchema> | undefined;
  for await (const { events = [] } of paginateFilterLogEvents({ client: logs }, wanted)) {
    const lines = events.flatMap(({ message = '' }) => parseJson(movedSchema, message) ?? []);
    last = lines.findLast((line) => line.execution === execution) ?? last;
  }
  return last;
}
