/**
 * The AWS metrics that alarms and the dashboard read, as AWS documents them, with their dimensions. An undocumented
 * name never has a value, so an alarm on it would never fire.
 */
export const AWS_METRICS: Record<
  string,
  { dimensions: string[]; names: string[]; ofAccount: string[]; source: string }
> = {
  'AWS/States': {
    dimensions: ['StateMachineArn'],
    names: ['ExecutionsSucceeded', 'ExecutionsFailed', 'ExecutionsTimedOut', 'ExecutionsAborted', 'ExecutionThrottled'],
    // AWS also reports these without a dimension, for all machines; the alarms read that.
    ofAccount: ['ExecutionThrottled'],
    source: 'https://docs.aws.amazon.com/step-functions/latest/dg/procedure-cw-metrics.html',
  },
  'AWS/Lambda': {
    dimensions: ['FunctionName'],
    names: ['Errors', 'Throttles'],
    ofAccount: ['Throttles'],
    source: 'https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html',
  },
  'AWS/SQS': {
    dimensions: ['QueueName'],
    names: ['ApproximateNumberOfMessagesVisible'],
    ofAccount: [],
    source:
      'https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html',
  },
};
