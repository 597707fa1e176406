/**
 * A Lambda function with this much memory has a whole core, MB:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
 */
export const WHOLE_CORE_MB = 1769;
