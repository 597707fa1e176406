/** The formats that can be read. A file may be compressed with gzip, or be the only file in a zip. */
export const FILE_FORMATS = ['csv', 'xlsx'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** Kinds of files that are published without checks if configured. `archive`: a zip with other content. */
export const OPAQUE_KINDS = ['xls', 'json', 'archive'] as const;
export type OpaqueKind = (typeof OPAQUE_KINDS)[number];
