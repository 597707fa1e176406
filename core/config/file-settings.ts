import * as z from 'zod';
import { HOST_PATTERN } from '../../transfer/source/guard.ts';
import { once, whole } from './common-settings.ts';
import { FILE_FORMATS } from './file-formats.ts';

/** The settings for files: which hosts they come from, and how they are moved. */

const GIB = 1024 ** 3;
/** The largest file that one invocation of PublishFile can read: about 70 MiB a second for 15 minutes. */
export const LARGEST_FILE_BYTES = 50 * GIB;

const fileHost = z.string().max(254).regex(HOST_PATTERN, {
  error:
    'must be a host name in lower case, such as "files.example.com", or ".files.example.com" for every name below it; no scheme, port, path or IP address',
});

export const fileHostsSchema = z
  .array(fileHost)
  .max(50)
  .default([])
  .describe(
    'Hosts that files may come from, by https on port 443: exact names (`"files.example.com"`), or with a leading dot every name below it (`".s3.eu-west-1.amazonaws.com"`). If empty: the host of `crm.baseUrl`.',
  );

/** With less memory, the heap of V8 is too small for the code of a function. Lambda refuses more than the maximum. */
export const functionMemory = whole(512, 10_240);
/** https://github.com/awslabs/landing-zone-accelerator-on-aws/issues/1139 */
export const MEMORY_NOTE = 'A new account allows at most 3008.';

const fileFormat = z.enum(FILE_FORMATS, {
  error: 'must be "csv" or "xlsx"; `entities.ENTITY.opaque` publishes other kinds of files without checking them',
});

export const filesSchema = z.strictObject({
  maxBytes: z
    .int()
    .min(1)
    .max(LARGEST_FILE_BYTES, {
      error: `must be at most ${LARGEST_FILE_BYTES} (50 GiB), the largest file that a run can check: write ${LARGEST_FILE_BYTES} or less, or remove this setting for the default of 20 GiB`,
    })
    .default(20 * GIB)
    .describe('Largest size of a file in bytes, packed or not. At most 50 GiB.'),
  formats: z
    .array(fileFormat)
    .min(1)
    .refine(...once('a format'))
    .default([...FILE_FORMATS])
    .describe(
      'Formats that a file may have, also with gzip or alone in a zip. Any other ends the run with `FileRejected`, unless `entities.ENTITY.opaque` names it.',
    ),
  allowUndeclaredEnd: z
    .boolean()
    .default(false)
    .describe(
      'Accepts a file without a declared length, which ends with the connection, if the check of the stored file proves that it is complete.',
    ),
  connections: z
    .strictObject({
      most: whole(1, 16).default(8).describe('Most connections to the file server.'),
    })
    .prefault({}),
  memoryMB: z
    .strictObject({
      download: functionMemory
        .default(576)
        .describe(`Memory of DownloadFile, MB. 1,769 MB have a whole CPU. ${MEMORY_NOTE}`),
      publish: functionMemory.default(512).describe(`Memory of PublishFile, MB. ${MEMORY_NOTE}`),
    })
    .prefault({}),
});
