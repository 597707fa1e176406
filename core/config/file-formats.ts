/** What a file may be. Each may also come compressed with gzip. */
export const FILE_FORMATS = ['csv', 'xlsx', 'xls', 'zip', 'json'] as const;
export type FileFormat = (typeof FILE_FORMATS)[number];

/** Those that are accepted unless the configuration says otherwise. */
export const DEFAULT_FORMATS: FileFormat[] = ['csv', 'xlsx', 'zip'];
