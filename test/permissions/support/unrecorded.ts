/** A right that no end-to-end test uses, and the reason for it. */
export interface Unrecorded {
  /** The prefix of the role's logical id. */
  roles: RegExp;
  actions: RegExp;
  /** The end of the resource; by default, any resource. */
  resources?: RegExp;
  reason: string;
  /**
   * Only a slow machine uses the right, where a function dies at its time limit: the right is excused even if it is
   * used.
   */
  byChance?: true;
}

const MACHINES = /^(ExportRun|CustomerUpdates)Machine/;

export const UNRECORDED: Unrecorded[] = [
  {
    roles: MACHINES,
    actions:
      /^logs:(CreateLogDelivery|GetLogDelivery|UpdateLogDelivery|DeleteLogDelivery|ListLogDeliveries|PutResourcePolicy|DescribeResourcePolicies|DescribeLogGroups)$/,
    reason: 'Step Functions sets up the delivery of its log with the role of the machine when it creates the machine.',
  },
  {
    roles: MACHINES,
    actions: /^xray:(PutTraceSegments|PutTelemetryRecords|GetSamplingRules|GetSamplingTargets)$/,
    reason: 'Step Functions sends traces with the role of the machine; the local cloud makes none.',
  },
  {
    roles: /^DownloadFileRole/,
    actions: /^s3:GetObject$/,
    reason:
      'The next function reads the file of a function that died right after its last call. No fault kills a function at that moment; ' +
      'store-trouble.slow.test.ts does: "because a call completed it and died: finds the object".',
    byChance: true,
  },
  {
    roles: /^SummarizeBatchRole/,
    actions: /^s3:AbortMultipartUpload$/,
    reason: 'The function removes the parts of a result that it cannot complete. The local bucket refuses no part.',
  },
  {
    roles: /^Write(Table|Changes)Role/,
    actions: /^s3:AbortMultipartUpload$/,
    reason:
      'The function removes the parts of an abandoned table or feed. Tables of the end-to-end tests are too small for parts.',
  },
];
