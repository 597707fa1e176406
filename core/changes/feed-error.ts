/** The tables or the settings do not make a feed. The message says why, and quotes no row. */
export class FeedError extends Error {}

/** The copy of a table is gone, or it is another one. */
export class BaseGone extends FeedError {}
