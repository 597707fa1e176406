/** The tables or settings do not allow a feed. The message gives the reason and quotes no row. */
export class FeedError extends Error {}

/** The copy of a table is missing, or has been replaced. */
export class BaseGone extends FeedError {}
