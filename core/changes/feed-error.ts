/** Tables and settings do not make a feed. Its message says why. */
export class FeedError extends Error {}
