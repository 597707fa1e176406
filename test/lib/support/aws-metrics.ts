/**
 * The metrics of AWS that alarms and the dashboard read, as AWS documents them, each with the dimensions that it is reported
 * under. A name that is not in the documents never has a value, and an alarm on it never comes.
 */
export const AWS_METRICS: Record<string, { dimensions: string[]; names: string[]; source: string }> = {
  'AWS/States': {
    dimensions: ['StateMachineArn'],
    names: [
      'ExecutionsStarted',
      'ExecutionsSucceeded',
      'ExecutionsFailed',
      'ExecutionsTimedOut',
      'ExecutionsAborted',
      'ExecutionThrottled',
    ],
    source: 'https://docs.aws.amazon.com/step-functions/latest/dg/procedure-cw-metrics.html',
  },
  'AWS/Lambda': {
    dimensions: ['FunctionName'],
    names: ['Invocations', 'Errors', 'Throttles', 'Duration', 'ConcurrentExecutions'],
    source: 'https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html',
  },
  'AWS/SQS': {
    dimensions: ['QueueName'],
    names: ['ApproximateNumberOfMessagesVisible', 'ApproximateAgeOfOldestMessage', 'NumberOfMessagesSent'],
    source:
      'https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html',
  },
};
