/**
 * Memory in MB with which a Lambda function has a whole core:
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
 */
export const WHOLE_CORE_MB = 1769;
