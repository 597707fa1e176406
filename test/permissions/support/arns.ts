import type { Resource, Template } from '../../../scripts/template.ts';

/** A made-up place of deployment: logical ids give the names that AWS would give. */
export const ACCOUNT = '111122223333';
export const REGION = 'eu-central-1';

const PSEUDO: Record<string, string> = {
  'AWS::Partition': 'aws',
  'AWS::Region': REGION,
  'AWS::AccountId': ACCOUNT,
  'AWS::URLSuffix': 'amazonaws.com',
};

/** The values of a template's references after a deployment. */
export class Names {
  readonly #template: Template;

  constructor(template: Template) {
    this.#template = template;
  }

  /** The only resource of a type whose logical id has this prefix. */
  id(type: string, prefix = ''): string {
    const found = Object.entries(this.#template.Resources).filter(
      ([id, it]) => it.Type === type && id.startsWith(prefix),
    );
    if (found.length !== 1 || !found[0]) throw new Error(`${found.length} resources are a ${type} ${prefix}`);
    return found[0][0];
  }

  arn(id: string): string {
    const { Type, Properties = {} } = this.#resource(id);
    const arn = (service: string, resource: string) => `arn:aws:${service}:${REGION}:${ACCOUNT}:${resource}`;
    const named = (key: string) => (Properties[key] === undefined ? id : String(this.value(Properties[key])));
    switch (Type) {
      case 'AWS::S3::Bucket':
        return `arn:aws:s3:::${id.toLowerCase()}`;
      case 'AWS::IAM::Role':
        return `arn:aws:iam::${ACCOUNT}:role/${id}`;
      case 'AWS::SecretsManager::Secret':
        return arn('secretsmanager', `secret:${id}-AbCdEf`);
      case 'AWS::DynamoDB::GlobalTable':
        return arn('dynamodb', `table/${id}`);
      case 'AWS::KMS::Key':
        return arn('kms', `key/${id}`);
      case 'AWS::Logs::LogGroup':
        return arn('logs', `log-group:${named('LogGroupName')}:*`);
      case 'AWS::Lambda::Function':
        return arn('lambda', `function:${named('FunctionName')}`);
      case 'AWS::Lambda::Alias':
        return `${this.arn(Properties.FunctionName.Ref)}:${Properties.Name}`;
      case 'AWS::StepFunctions::StateMachine':
        return arn('states', `stateMachine:${named('StateMachineName')}`);
      case 'AWS::SQS::Queue':
        return arn('sqs', id);
      case 'AWS::SNS::Topic':
        return arn('sns', id);
      case 'AWS::Events::Rule':
        return arn('events', `rule/${id}`);
      default:
        throw new Error(`no ARN is known for ${Type} ${id}`);
    }
  }

  /** A value of the template with every reference followed. */
  value(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((part) => this.value(part));
    if (typeof value !== 'object' || value === null) return value;
    const [[key, argument] = ['', undefined], ...more] = Object.entries(value);
    if (more.length === 0 && (key === 'Ref' || key.startsWith('Fn::'))) return this.#intrinsic(key, argument);
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, this.value(part)]));
  }

  #intrinsic(key: string, argument: unknown): unknown {
    if (key === 'Ref') return PSEUDO[String(argument)] ?? this.#reference(String(argument));
    if (key === 'Fn::GetAtt' && Array.isArray(argument) && argument[1] === 'Arn') return this.arn(String(argument[0]));
    const given = this.value(argument);
    if (Array.isArray(given)) {
      if (key === 'Fn::Join') return given[1].join(given[0]);
      if (key === 'Fn::Split') return String(given[1]).split(given[0]);
      if (key === 'Fn::Select') return given[1][Number(given[0])];
    }
    throw new Error(`${key} of ${JSON.stringify(argument)} is not followed`);
  }

  #reference(id: string): string {
    const byName = ['AWS::S3::Bucket', 'AWS::DynamoDB::GlobalTable', 'AWS::IAM::Role', 'AWS::Lambda::Function'];
    const arn = this.arn(id);
    return byName.includes(this.#resource(id).Type) ? (arn.split(/[:/]/).at(-1) ?? id) : arn;
  }

  #resource(id: string): Resource {
    const resource = this.#template.Resources[id];
    if (!resource) throw new Error(`the template has no ${id}`);
    return resource;
  }
}
