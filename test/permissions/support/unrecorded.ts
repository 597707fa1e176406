/** A right that no end-to-end test uses, and why it is there all the same. */
export interface Unrecorded {
  /** What the logical id of the role begins with. */
  roles: RegExp;
  actions: RegExp;
  /** What the resource ends with; any, where it is not said. */
  resources?: RegExp;
  reason: string;
  /** Seen on a slow machine only, where a function dies at its timeout in the middle of its work: excused, seen or not. */
  byChance?: true;
}

const MACHINES = /^(ExportRun|CustomerUpdates)Machine/;

export const UNRECORDED: Unrecorded[] = [
  {
    roles: MACHINES,
    actions:
      /^logs:(CreateLogDelivery|GetLogDelivery|UpdateLogDelivery|DeleteLogDelivery|ListLogDeliveries|PutResourcePolicy|DescribeResourcePolicies|DescribeLogGroups)$/,
    reason: 'Step Functions sets up the delivery of its log with the role of the machine when the machine is made.',
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
      'The file of a function that died right behind its last call is looked at by the next one. No fault kills a function just there; ' +
      'store-trouble.slow.test.ts does: "because a call completed it and died: finds the object".',
    byChance: true,
  },
  {
    roles: /^SummarizeBatchRole/,
    actions: /^s3:AbortMultipartUpload$/,
    reason: 'The parts of a result that cannot be finished are removed. The local bucket refuses no part.',
  },
  {
    roles: /^Write(Table|Changes)Role/,
    actions: /^s3:AbortMultipartUpload$/,
    reason:
      'The parts of a table or feed that is given up are removed. Those of the end-to-end tests are too small for parts.',
  },
];
