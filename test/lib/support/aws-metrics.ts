/**
 * The metrics of AWS that alarms and the dashboard read, as AWS documents them, each with the dimensions that it is reported
 * under. A name that is not in the documents never has a value, and an alarm on it never comes.
 */
export const AWS_METRICS: Record<
  string,
  { dimensions: string[]; names: string[]; ofAccount: string[]; source: string }
> = {
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
    // Reported without a dimension too, for all machines, and alarms read it so.
    ofAccount: ['ExecutionThrottled'],
    source: 'https://docs.aws.amazon.com/step-functions/latest/dg/procedure-cw-metrics.html',
  },
  'AWS/Lambda': {
    dimensions: ['FunctionName'],
    names: ['Invocations', 'Errors', 'Throttles', 'Duration', 'ConcurrentExecutions'],
    ofAccount: ['Throttles'],
    source: 'https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html',
  },
  'AWS/SQS': {
    dimensions: ['QueueName'],
    names: ['ApproximateNumberOfMessagesVisible', 'ApproximateAgeOfOldestMessage', 'NumberOfMessagesSent'],
    ofAccount: [],
    source:
      'https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html',
  },
};
