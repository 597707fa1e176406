import { z } from 'zod';
import { entitySchema } from '../../core/config/entities.ts';

const FAULT_PATHS = ['fields', 'create', 'status', 'download', 'file', 'update', 'token', 'authorize'] as const;

const bytes = z.int().nonnegative();
const callNumber = z.int().positive();
const headers = z.record(z.string(), z.string());

const anywhere = {
  /** This answer instead of the real one; the request is not carried out, unless `done` is set. */
  answer: z.strictObject({ status: z.int().min(200).max(599), headers: headers.optional(), body: z.json().optional() }),
  /** The request is carried out although `answer` is sent, as behind a gateway that timed out. */
  done: z.literal(true),
  /** 302 to this address; nothing is done. */
  redirect: z.string(),
  /** The connection is reset before anything is done, or after it was done but before it is answered. */
  reset: z.enum(['before', 'after']),
  /** The request waits that long before anything is done. */
  delaySeconds: z.number().nonnegative(),
  /** Declares the full length, cuts the connection after that many bytes. */
  hangUp: bytes,
  /** Sends that many bytes, then nothing more over an open connection. */
  stallAfter: bytes,
};

const onlyAt = {
  status: {
    /** The status word that is answered, of the document or not. */
    status: z.string(),
  },
  create: {
    /** The id that is answered for the new export. */
    id: z.string(),
  },
  file: {
    /** Chunked transfer that is cut after that many bytes. */
    chunkedCut: bytes,
    /**
     * The answer has neither length nor chunks, the close ends the body: `true` = at its end, a number = after that
     * many bytes.
     */
    closeDelimited: z.union([z.literal(true), bytes]),
    /** The number is added to the true Content-Length. */
    declaredLength: z.int(),
    contentType: z.string(),
    /** '' = no such header. */
    contentDisposition: z.string(),
    /** Content-Encoding: gzip, whatever the client accepts; no Range. */
    gzip: z.literal(true),
    bytesPerSecond: z.int().positive(),
    /** The ETag is another one from that call on, counted since the fault was added. */
    etagChangesAt: callNumber,
    /** Range is announced but ignored. */
    ignoreRange: z.literal(true),
    noEtag: z.literal(true),
    /** This content instead of the export. */
    body: z.union([z.string(), z.instanceof(Uint8Array)]),
    /** The records of the export in another format: the document does not define one. */
    written: z.strictObject({
      format: z.enum(['csv', 'xlsx', 'json-lines']).default('csv'),
      /** `capitals`: names in other letters; `numbers`: texts that the interface lists nowhere. */
      header: z.enum(['names', 'labels', 'capitals', 'numbers', 'none']).default('names'),
      separator: z.enum([',', ';', '\t']).default(','),
      lineBreak: z.enum(['\r\n', '\n', '\r']).default('\r\n'),
      encoding: z.enum(['utf-8', 'utf-16le', 'utf-16be', 'windows-1255']).default('utf-8'),
      byteOrderMark: z.boolean().default(false),
      /** A first line `sep=;`, as Excel reads it. */
      separatorLine: z.boolean().default(false),
      /** Rows of one text above the header of a workbook, and further sheets like the first. */
      titleRows: z.int().nonnegative().default(0),
      moreSheets: z.int().nonnegative().default(0),
      /** A file of gzip or zip, as such: not as an encoding of its transfer. */
      packed: z.enum(['no', 'gzip', 'zip']).default('no'),
    }),
  },
};

const effectSchema = z.object({ ...anywhere, ...onlyAt.status, ...onlyAt.create, ...onlyAt.file }).partial();

/** What happens to one call: the effects of all faults that hit it, together. */
export type Effect = z.infer<typeof effectSchema>;

function misplaced(fault: { path: string }): string[] {
  return Object.entries(onlyAt)
    .filter(([path]) => path !== fault.path)
    .flatMap(([, effects]) => Object.keys(effects))
    .filter((name) => name in fault);
}

export const faultSchema = z
  .strictObject({
    entity: z.optional(entitySchema),
    path: z.enum(FAULT_PATHS),
    /** 1-based numbers of the calls that are hit, counted per entity since the fault was added. */
    calls: z
      .union([z.literal('all'), z.array(callNumber), z.strictObject({ from: callNumber, to: callNumber.optional() })])
      .default('all'),
    /** Update: only the calls for these ids are hit, and numbered for each id apart. */
    customers: z.array(z.guid()).nonempty().optional(),
    ...effectSchema.shape,
  })
  .superRefine((fault, context) => {
    for (const name of misplaced(fault)) {
      context.addIssue({ code: 'custom', path: [name], message: `has no effect at ${fault.path}` });
    }
    if (fault.path === 'file' && fault.reset === 'after') {
      context.addIssue({ code: 'custom', path: ['reset'], message: 'has no "after" at file: use hangUp' });
    }
    if (fault.path !== 'update' && fault.customers) {
      context.addIssue({ code: 'custom', path: ['customers'], message: `has no effect at ${fault.path}` });
    }
  });

/** A fault as tests and `POST /_sandbox/faults` write it. */
export type FaultInput = z.input<typeof faultSchema>;
export type Fault = z.infer<typeof faultSchema>;
