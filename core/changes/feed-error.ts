/** Tables and settings do not make a feed. Its message says why. */
export class FeedError extends Error {}

/** The rows are too many for this function's disk. One that has fewer copies of tables on its own may have room for them. */
export class TooLarge extends FeedError {}
