import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  type UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';

type Item = Record<string, AttributeValue>;
type Update = UpdateItemCommand['input'];

/** A table in memory that evaluates the ledger's expressions as DynamoDB does. An unknown word in one is an error. */
export class FakeLedger {
  readonly items = new Map<string, Item>();
  /** The number of requested writes, and of successful ones. */
  asked = 0;
  written = 0;
  /** Returns an error to make an operation fail. */
  trouble: (operation: 'read' | 'write') => Error | undefined = () => undefined;
  readonly #latency: () => Promise<unknown>;

  constructor(latency: () => Promise<unknown>) {
    this.#latency = latency;
  }

  get client(): DynamoDBClient {
    // The fake implements only the part of the client that the ledger uses.
    return { send: (command: GetItemCommand | UpdateItemCommand) => this.#send(command) } as unknown as DynamoDBClient;
  }

  /** Every item as plain values, by its token set. */
  rows(): Record<string, unknown>[] {
    return [...this.items.values()].map((item) =>
      Object.fromEntries(Object.entries(item).map(([name, { N, S }]) => [name, N === undefined ? S : Number(N)])),
    );
  }

  async #send(command: GetItemCommand | UpdateItemCommand): Promise<object> {
    await this.#latency();
    const reading = command instanceof GetItemCommand;
    if (!reading) this.asked += 1;
    const trouble = this.trouble(reading ? 'read' : 'write');
    if (trouble) throw trouble;
    const key = command.input.Key?.pk?.S ?? '';
    const answer = reading ? { Item: this.items.get(key) } : this.#update(key, command.input as Update);
    await this.#latency();
    return answer;
  }

  #update(key: string, input: Update): object {
    const Item = this.items.get(key);
    const { ConditionExpression: condition } = input;
    if (condition !== undefined && !new Expression(condition, input, Item ?? {}).holds()) {
      throw new ConditionalCheckFailedException({ message: '', $metadata: {}, ...(Item && { Item }) });
    }
    const changed = new Expression(input.UpdateExpression, input, Item ?? {}).changes();
    const Attributes = { pk: { S: key }, ...Item, ...changed };
    this.items.set(key, Attributes);
    this.written += 1;
    return { Attributes };
  }
}

type Value = AttributeValue | undefined;

class Expression {
  readonly #words: string[];
  readonly #input: Update;
  readonly #item: Item;

  constructor(text: string | undefined, input: Update, item: Item) {
    this.#words = text?.match(/[#:\w]+|[()=<,+-]/g) ?? [];
    this.#input = input;
    this.#item = item;
  }

  holds(): boolean {
    const held = this.#or();
    if (this.#words.length > 0) throw new Error(`not understood: ${this.#words.join(' ')}`);
    return held;
  }

  changes(): Item {
    const changed: Item = {};
    this.#take('SET');
    do {
      const name = this.#name(this.#next());
      this.#take('=');
      changed[name] = this.#sum() ?? { NULL: true };
    } while (this.#took(','));
    if (this.#words.length > 0) throw new Error(`not understood: ${this.#words.join(' ')}`);
    return changed;
  }

  #or(): boolean {
    let held = this.#and();
    while (this.#took('OR')) held = this.#and() || held;
    return held;
  }

  #and(): boolean {
    let held = this.#test();
    while (this.#took('AND')) held = this.#test() && held;
    return held;
  }

  #test(): boolean {
    if (this.#took('(')) {
      const held = this.#or();
      this.#take(')');
      return held;
    }
    const word = this.#next();
    if (word === 'attribute_not_exists') return this.#argument() === undefined;
    const left = this.#value(word);
    const operator = this.#next();
    const right = this.#value(this.#next());
    if (left === undefined || right === undefined) return false;
    if (operator === '=') return left.S === right.S && left.N === right.N;
    if (operator === '<') return Number(left.N) < Number(right.N);
    throw new Error(`not understood: ${operator}`);
  }

  #sum(): Value {
    const left = this.#term();
    const sign = this.#took('+') ? 1 : this.#took('-') ? -1 : 0;
    return sign === 0 ? left : { N: String(Number(left?.N) + sign * Number(this.#term()?.N)) };
  }

  #term(): Value {
    const word = this.#next();
    if (word !== 'if_not_exists') return this.#value(word);
    this.#take('(');
    const standing = this.#value(this.#next());
    this.#take(',');
    const otherwise = this.#value(this.#next());
    this.#take(')');
    return standing ?? otherwise;
  }

  #argument(): Value {
    this.#take('(');
    const value = this.#value(this.#next());
    this.#take(')');
    return value;
  }

  #value(word: string): Value {
    return word.startsWith(':') ? this.#input.ExpressionAttributeValues?.[word] : this.#item[this.#name(word)];
  }

  #name(word: string): string {
    return word.startsWith('#') ? (this.#input.ExpressionAttributeNames?.[word] ?? word) : word;
  }

  #next(): string {
    return this.#words.shift() ?? '';
  }

  #took(word: string): boolean {
    if (this.#words[0] !== word) return false;
    this.#words.shift();
    return true;
  }

  #take(word: string): void {
    if (!this.#took(word)) throw new Error(`${word} expected, not ${this.#words[0]}`);
  }
}
