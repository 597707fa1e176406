import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DynamoDBClient,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';

/** A client of the SDK that sends by this function. Any other part of it fails: it has no configuration. */
export function clientOf<Client extends object>(
  Of: { prototype: Client },
  send: (...of: never[]) => Promise<object>,
): Client {
  return Object.assign(Object.create(Of.prototype), { send });
}

type Item = Record<string, AttributeValue>;
type Update = UpdateItemCommand['input'];

/**
 * A table in memory that evaluates the ledger's expressions as DynamoDB does. An unknown word in one is an error, and so
 * is a read: functions have no right to it.
 */
export class FakeLedger {
  readonly items = new Map<string, Item>();
  /** The number of requested writes, and of successful ones. */
  asked = 0;
  written = 0;
  /** Returns an error to make a write fail. */
  trouble: () => Error | undefined = () => undefined;
  readonly #latency: () => Promise<unknown>;

  constructor(latency: () => Promise<unknown>) {
    this.#latency = latency;
  }

  get client(): DynamoDBClient {
    return clientOf(DynamoDBClient, (command: UpdateItemCommand) => this.#send(command));
  }

  /** Every item as plain values, by its token set. */
  rows(): Record<string, unknown>[] {
    return [...this.items.values()].map((item) =>
      Object.fromEntries(Object.entries(item).map(([name, { N, S }]) => [name, N === undefined ? S : Number(N)])),
    );
  }

  async #send(command: UpdateItemCommand): Promise<object> {
    if (!(command instanceof UpdateItemCommand)) throw new Error('A function does more than update the ledger.');
    await this.#latency();
    this.asked += 1;
    const trouble = this.trouble();
    if (trouble) throw trouble;
    const answer = this.#update(command.input.Key?.pk?.S ?? '', command.input);
    await this.#latency();
    return answer;
  }

  #update(key: string, input: Update): object {
    const Item = this.items.get(key);
    const { ConditionExpression: condition, UpdateExpression = '' } = input;
    if (condition !== undefined && !evaluated(condition, input, Item)) {
      throw new ConditionalCheckFailedException({ message: '', $metadata: {}, ...(Item && { Item }) });
    }
    const changes = UpdateExpression.replace('SET ', '').split(/, (?=#)/);
    const changed = changes.map((change) => {
      const [name = '', value = ''] = change.split(' = ');
      const result = evaluated(value, input, Item);
      return [input.ExpressionAttributeNames?.[name], typeof result === 'number' ? { N: `${result}` } : { S: result }];
    });
    const Attributes = { pk: { S: key }, ...Item, ...Object.fromEntries(changed) };
    this.items.set(key, Attributes);
    this.written += 1;
    return { Attributes };
  }
}

/** The operators of DynamoDB in JavaScript. Its functions are the parameters below. */
const OPERATORS: Record<string, string> = { '=': '===', AND: '&&', OR: '||' };
const FUNCTIONS = {
  attribute_not_exists: (value: unknown) => value === undefined,
  if_not_exists: (value: unknown, otherwise: unknown) => value ?? otherwise,
};

type Compiled = (of: (word: string) => unknown, ...functions: unknown[]) => unknown;
const compiled = new Map<string, Compiled>();

/** The value of an expression: its names and values are looked up, its operators are those of JavaScript. */
function evaluated(expression: string, input: Update, item: Item = {}): unknown {
  const { ExpressionAttributeNames: names, ExpressionAttributeValues: values } = input;
  const of = (word: string) => {
    const { N, S } = (word.startsWith(':') ? values?.[word] : item[names?.[word] ?? word]) ?? {};
    return N === undefined ? S : Number(N);
  };
  const inJavaScript = () =>
    expression.replaceAll(/[#:]?\w+|=/g, (word) => OPERATORS[word] ?? (word in FUNCTIONS ? word : `of('${word}')`));
  const run =
    compiled.get(expression) ?? (new Function('of', ...Object.keys(FUNCTIONS), `return ${inJavaScript()}`) as Compiled);
  compiled.set(expression, run);
  return run(of, ...Object.values(FUNCTIONS));
}
