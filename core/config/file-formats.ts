/** What the content of a file may be: it is read to its end. It may come packed, with gzip or alone in a zip. */
export const FILE_FORMATS = ['csv', 'xlsx'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** Kinds that are published unjudged where the configuration says so. `archive`: a zip that is no spreadsheet and holds not exactly one file of those. */
export const OPAQUE_KINDS = ['xls', 'json', 'archive'] as const;
export type OpaqueKind = (typeof OPAQUE_KINDS)[number];

/** The formats that are accepted unless the configuration says otherwise. */
export const DEFAULT_FORMATS: FileFormat[] = [...FILE_FORMATS];
