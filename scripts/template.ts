/** Types and readers for CloudFormation templates and their state machines. */

/** A resource of a CloudFormation template. */
export interface Resource {
  Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: CloudFormation's own shapes, different for every type.
  Properties?: any;
  DeletionPolicy?: string;
  UpdateReplacePolicy?: string;
  DependsOn?: string[];
}

export interface Template {
  Metadata?: Record<string, unknown>;
  Parameters?: Record<string, { Type: string; Default: string }>;
  Rules?: Record<string, unknown>;
  Resources: Record<string, Resource>;
  Outputs: Record<string, { Value: unknown }>;
}

/** The part of the Amazon States Language that the machine uses. */
export interface State {
  Type: 'Pass' | 'Task' | 'Choice' | 'Wait' | 'Succeed' | 'Fail' | 'Map';
  Comment?: string;
  Next?: string;
  Default?: string;
  Choices?: { Variable: string; StringEquals?: string; IsPresent?: boolean; Next: string }[];
  Retry?: Retrier[];
  Catch?: { ErrorEquals: string[]; ResultPath: string | null; Next: string }[];
  Resource?: string;
  Parameters?: Record<string, unknown>;
  OutputPath?: string;
  SecondsPath?: string;
  Error?: string;
  ErrorPath?: string;
  Cause?: string;
  CausePath?: string;
  /** The machine of each child of a Map, and how the children start. */
  ItemProcessor?: Definition & { ProcessorConfig: { Mode: string; ExecutionType: string } };
  ItemReader?: { Resource: string; ReaderConfig: Record<string, unknown>; Parameters: Record<string, unknown> };
  ItemSelector?: Record<string, unknown>;
  MaxConcurrency?: number;
  ToleratedFailurePercentage?: number;
  Label?: string;
  Result?: unknown;
  ResultPath?: string | null;
}

export interface Retrier {
  ErrorEquals: string[];
  IntervalSeconds: number;
  MaxAttempts: number;
  BackoffRate: number;
  MaxDelaySeconds: number;
  JitterStrategy: string;
}

export interface Definition {
  Comment?: string;
  StartAt: string;
  TimeoutSeconds?: number;
  States: Record<string, State>;
}

/** The definition of a machine of a template, with every reference replaced by the logical id. */
export function definitionOf(template: Template, name: 'ExportRun' | 'CustomerUpdates' = 'ExportRun'): Definition {
  const machine = Object.entries(template.Resources).find(
    ([id, { Type }]) => Type === 'AWS::StepFunctions::StateMachine' && id.startsWith(name),
  );
  if (!machine) throw new Error(`the template has no state machine ${name}`);
  return JSON.parse(resolved(machine[1].Properties.DefinitionString));
}

/** The text of a value with Fn::Join and Ref. */
export function resolved(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null) {
    if ('Ref' in value) return value.Ref === 'AWS::Partition' ? 'aws' : String(value.Ref);
    if ('Fn::GetAtt' in value && Array.isArray(value['Fn::GetAtt'])) return value['Fn::GetAtt'].join('.');
    if ('Fn::Join' in value && Array.isArray(value['Fn::Join'])) {
      const separator: string = value['Fn::Join'][0];
      const parts: unknown[] = value['Fn::Join'][1];
      return parts.map(resolved).join(separator);
    }
  }
  throw new Error(`cannot resolve ${JSON.stringify(value)} to a text`);
}
