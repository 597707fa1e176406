/** The disk of WriteChanges, in MB: the most that Lambda gives. */
export const FEED_DISK_MB = 10_240;
