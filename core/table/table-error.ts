/** A table or a feed cannot be made. The message gives the reason in a sentence without any value of a record. */
export class TableError extends Error {}
