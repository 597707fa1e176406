import { ENTITIES } from '../config/entities.ts';
import { HUMPS } from '../folded.ts';
import { NAMES, type Rule, rootRule, ruleOf } from './allowed-elements.ts';
import { type Attributes, isUsualPrefix, localName, type XmlHandler } from './xml.ts';

/** Words of the file format, names of programs that write it, and words in their names for sheets and files. */
const WORDS = new Set([
  ...ENTITIES.flatMap((entity) => entity.split('-')).flatMap((word) => [word, word.replace(/s$/, '')]),
  ...`2006 ac account accounts app application author auto bin bmp bottomleft bottomright bottomtop builtin calc calcchain center chart com
  content contenttype core core-properties creator custom dc dcmitype dcterms doc docprops document drawing drawingml drawings
  extended false fixed frozen frozensplit general gif http https image images info inlinestr internal jpeg jpg landscape left
  legacy mac main manual mc media metadata microsoft msexcel name new normal office officedocument openxmlformats org overthendown downthenover
  package pagebreakpreview pagelayout person portrait png printersettings properties purl relationships rels revision right rtl ltr
  schemas schema sharedstrings sheet sheets sheetml split spreadsheet spreadsheetdrawing spreadsheetml standard str strict strings style styles table tables
  tablestyledark tablestylelight tablestylemedium template theme themeoverride thisworkbook topleft topright transitional true types
  unknown untitled variant elements docpropsvtypes terms markup compatibility default displayed none noconversion psmdcp named ranges
  macintosh user preserve urn charts comments threadedcomments threadedcomment pivotcache pivottables pivottable pivotcachedefinition pivotcacherecords
  externallinks externallink hyperlink thumbnail ctrlprops ctrlprop controlproperties embeddings oleobject activex revisions revisionlog macroenabled
  ridcore ridapp ridstyles ridsharedstrings ridworkbook w3 i4 lpstr vmldrawing vml visible hidden veryhidden vnd vt w3cdtf workbook worksheet worksheets www xl xlnm xml xmlns xmlschema instance mso
  ds store macosx thumbs db desktop ini empty pdf tif tiff emf wmf x ms model binary sheetmetadata xldapr dynamicarray richdata rid crm rd single fv cnmtm lambda let wf arraytext vba project my calca1 txt tsv c d tmp temp var home out output
  chartex diagram slicer locked canvas math picture customui ink custom xsn cover props long meta attributes information panel library calcfeatures
  apache aspose axlsx book caxlsx cells closedxml compatible docs excelize fastexcel go google jxls npoi numbers oclc ooxml rust spire syncfusion wps xuri corporation epplus excel exceljs libreoffice excela1 calca1excela1 openpyxl openspout openxml phpexcel phpspreadsheet poi pyexcelerate pylightxl
  frame hucre djohnson code populate lib rubyxl sheetjs spout sxssf xlsx xlsxwriter xlsm csv zip filterdatabase print titles area
  active all blad daily data database date export exported exports feuil feuille file foglio full grid hoja list nightly open page part planilha april august december february january july june march may november october september
  query records report result results tab tabelle total лист arkusz גיליון דוח ייצוא תוצאות סיכום יצוא גליון ינואר פברואר מרץ אפריל מאי יוני יולי אוגוסט ספטמבר אוקטובר נובמבר דצמבר
  גליונות גיליונות עבודה טווחים בעלי שם שמות טבלה חוברת листы именованные диапазоны таблица книга أوراق العمل ورقة جدول
  above arrows average bar between black boxes color decimal duplicate equal flags gray greater icon length less lights max min not num or
  percent percentile quarters rating red scale set signs stars stop symbols text than to traffic triangles unique values warning whole cell is
  activities calls companies deals emails events invoices opportunities orders policies products dashboard summary monthly weekly part utf v jan feb mar apr jun jul aug sep oct nov dec
  נתונים רשימה רשימת כל הלידים הלקוחות לידים לקוחות פגישות משימות אנשי קשר סוכנים מספרי סוכן מעסיקים תהליכים פוליסות פעילים דו ח חודשי שבועי יומי שנתי
  system tasks tickets users deal task order product call backup copy download gz of prod production public snapshot
  and api automatic basic blank bulk by contents demo detail details final first for from items log overview raw rows sample scheduled search test view
  אקסל הנתונים הפגישות חדשים יומן כללי מהמערכת נתוני עבודה פרטי קובץ ריכוז שלי תהליכי`.split(/\s+/),
]);

const PLACE = String.raw`\$?[A-Z]{1,3}\$?\d{1,7}`;
const RANGE = String.raw`${PLACE}(?::${PLACE})?|\$?[A-Z]{1,3}:\$?[A-Z]{1,3}|\$?\d{1,7}:\$?\d{1,7}`;
const GUID = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
const YEAR = String.raw`(?:19|20)\d\d`;
const [DAY, MONTH, HOUR, MINUTE] = ['(?:0[1-9]|[12]\\d|3[01])', '(?:0[1-9]|1[0-2])', '(?:[01]\\d|2[0-3])', '[0-5]\\d'];
/** The same character separates year, month and day: in `2026 0521234567`, the second number is a telephone number. */
const TIME = String.raw`${YEAR}(?<by>[-./_ ]?)${MONTH}\k<by>${DAY}(?:[T _-]?${HOUR}[:._-]?${MINUTE}(?:[:._-]?${MINUTE}(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?`;
const whole = (...parts: string[]) => new RegExp(parts.map((part) => `^(?:${part})$`).join('|'));
/** Numbers, times, languages, and the version of LibreOffice. */
const FORMAL = whole(
  String.raw`[+-]?\d{0,8}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?`,
  TIME,
  '[a-z]{2}-[A-Z]{2}',
  String.raw`LibreOffice\w*/[\d.]+\$\w+ LibreOffice_project/[0-9a-f]*(?:\$Build-\d+)?`,
);
/**
 * Header and footer of printed pages, with only the number of the page, the date, the name of the sheet or the file.
 * PyExcelerate writes the text `None`.
 */
const USUAL_TEXT =
  /^None$|^(?:&(?:[LCRPNDTAFB]|"(?:Times New Roman|DejaVu Serif|Arial|Calibri|-),(?:Regular|Bold|Book)"(?:&(?:[89]|1[0-2]))?)|Page|of|עמוד|מתוך|[ /-])+$/;
/** Attributes may also contain cell ranges, colours and ids. */
const FORMAL_ATTRIBUTE = whole(
  `(?:${RANGE})(?: (?:${RANGE}))*`,
  // The types of cells, then a colour, and the hash of a password with its salt.
  '[snbed]|str',
  '[0-9a-fA-F]{8}',
  '[0-9a-fA-F]{4}',
  'SHA-512',
  '[\\w+/]{22}==|[\\w+/]{86}==',
  `(?:\\d{1,2}_(?:ncr:\\d{1,4}_)?)?\\{${GUID}\\}`,
  // An unknown printer resolution.
  String.raw`42949672\d\d`,
);
const ID = /^(?:[a-zA-Z]{1,4}\d{0,6}|R[0-9a-f]{8,32})$/;
const [D, M] = [`(?:${DAY}|[1-9])`, `(?:${MONTH}|[1-9])`];
/**
 * A date with the year last, in any order of day and month: `1.12.2026`, `12-31-2026`, `01122026`, `01.12.26`. The last
 * form has no digits beside it: `05-12-34-56-78` is a telephone number.
 */
const DATE = String.raw`${D}(?<sign>[-./_ ])${D}\k<sign>${YEAR}|${DAY}${MONTH}${YEAR}|(?<!\d[._-])${D}(?<dot>[._-])${M}\k<dot>\d\d(?!\k<dot>\d\d(?!\d))`;
const CLOCK = String.raw`[T _-]{1,3}(?:${HOUR}${MINUTE}(?:${MINUTE})?|(?:${HOUR}|\d)(?<colon>[:._-])${MINUTE}(?:\k<colon>${MINUTE})?(?!\k<colon>\d\d))`;
/** A year with three digits beside it may be part of a longer number: `107-2003`. */
const ONLY_YEAR = String.raw`(?<!\d{3}[-._ ])${YEAR}(?![-._ ]\d{3})`;
const PARTS_OF_NAMES = new RegExp(
  String.raw`${GUID}|(?<!\d)(?:${TIME}(?:-\d{3}Z)?|(?:${DATE})(?:${CLOCK})?|${ONLY_YEAR}|1\d{9}(?:\d{3})?)(?!\d)`,
);
const MOST_DIGITS = 4;
/** Namespace addresses contain years. */
const MOST_DIGITS_OF_ADDRESS = 8;

/**
 * Whether a text has only words of `WORDS`, at most one date or id, and a short number: `Leads 2026-11-26`, `a12.xml`.
 * @param names texts of the settings
 */
export function isAllowedName(text: string, names: ReadonlySet<string> = new Set()): boolean {
  if (names.has(text)) return true;
  const rest = text.normalize('NFKC').replace(PARTS_OF_NAMES, ' ');
  const isAllowed = (word: string) => WORDS.has(word.toLowerCase());
  const strange = (rest.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).filter((word) => !isAllowed(word));
  const digits = strange.join('').match(/\p{N}/gu)?.length ?? 0;
  const most = rest.startsWith('http:') ? MOST_DIGITS_OF_ADDRESS : MOST_DIGITS;
  const parts = strange.join(' ').match(/[\p{L}\p{M}]+/gu) ?? [];
  return digits <= most && parts.every((part) => isAllowed(part) || part.split(HUMPS).every(isAllowed));
}

/** Names that a workbook may contain besides the words of `WORDS`. */
export interface AllowedNames {
  /** Names in the settings. */
  settings: ReadonlySet<string>;
  /**
   * Names of sheets, and texts of the header. Other parts may mention them, because they are checked where they are
   * defined.
   */
  mentioned: ReadonlySet<string>;
}

const NO_NAMES: AllowedNames = { settings: new Set(), mentioned: new Set() };

/** Terms in findings for the forbidden elements and attributes that occur most often. */
const CALLED: [name: RegExp, what: string][] = [
  [/^f$|^calculatedColumnFormula$/, 'formulas'],
  [/^rPh$/, 'phonetic runs'],
  [/^(odd|even|first)(Header|Footer)$/, 'headers or footers of pages'],
  [/^filter(Column|s)$|^(custom|dynamic|color|icon)Filters?$|^top10$/, 'filters'],
  [/^scenarios$/, 'scenarios'],
  [/^dataValidation$|^formula[12]$/, 'data validation lists'],
  [/^cfRule$|^cfvo$|^formula$/, 'conditional formats'],
  [/^hyperlink$|^TargetMode$/, 'links'],
  [/^definedName$/, 'defined names'],
  [/^AlternateContent$|^Choice$|^absPath$/, 'alternative content'],
  [/^extLst$/, 'extensions'],
  [/^sheet$/, 'a name of a sheet'],
  [/^table(Column)?$/, 'a name in a table'],
  [/^formatCode$/, 'a text in a number format'],
];
const OTHER = 'text in other places';
/** Matches the texts in a number format, which may be longer than a unit or currency; also currencies and digits. */
const LITERALS = /"[^"]*"|(?:\\.)+|\[\$[^\]-]*|(?<!\[[^\]]*)\d+/g;
/** The most that Excel allows is 255 characters. Searching a longer format for literals takes quadratic time. */
const LONGEST_FORMAT = 1000;
const LONG_TEXT = /\p{L}{6}|\p{N}{4}/u;

/** Walks through a part and reports text that is not allowed. */
export class AllowedText implements XmlHandler {
  /** What is not allowed in the part, in words for a message. */
  readonly found = new Set<string>();
  readonly #names: AllowedNames;
  /** Verdicts on values that occurred before. */
  readonly #judged = new Map<string, boolean>();
  /** The rule of the open element, and the rules of its ancestors; `null` inside an element that is not allowed. */
  #rule: Rule | null;
  readonly #parents: (Rule | null)[] = [];
  #text = '';

  /** @param root the root element of the part */
  constructor(root: string, names: AllowedNames = NO_NAMES) {
    this.#rule = rootRule(root);
    this.#names = names;
  }

  open(name: string, _depth: number, attributes: Attributes): void {
    if (this.#text !== '') this.#judgeText();
    const parent = this.#rule;
    const below = parent?.children.has(name) ? ruleOf(name) : null;
    const rule = parent?.any && name !== 'AlternateContent' ? parent : below;
    if (parent && !rule) this.#report(name);
    this.#parents.push(parent);
    this.#rule = rule;
    if (rule) this.#judgeAttributes(rule, name, attributes);
  }

  text(text: string): boolean {
    if (this.#rule && this.#text.length <= LONGEST_JUDGED) this.#text += text;
    return true;
  }

  close(): void {
    if (this.#text !== '') this.#judgeText();
    this.#rule = this.#parents.pop() ?? null;
  }

  /** A comment or processing instruction. */
  aside(): void {
    if (this.#rule) this.found.add('comments in its XML');
  }

  /** A text of a cell that is not the value of the cell. */
  dropped(): void {
    this.found.add(OTHER);
  }

  #judgeText(): void {
    const text = this.#text.trim();
    this.#text = '';
    if (text === '') return;
    const rule = this.#rule;
    const holds = rule?.text ? this.#isAllowed(text, rule.name) : USUAL_TEXT.test(text);
    if (rule && !holds) this.#report(rule.name);
  }

  #judgeAttributes({ attributes: allowed, any }: Rule, element: string, attributes: Attributes): void {
    for (const name in attributes) {
      const value = attributes[name] ?? '';
      if (any && name === 'formatCode' && hasLongText(value)) this.#report(name);
      const listed = any || allowed.has(name) || name === 'xmlns' || (isUsualPrefix(name) && isListed(name, allowed));
      const holds = any || (listed && this.#isAllowedAttribute(element, name, attributes));
      if (!holds) this.#report(listed && name === 'TargetMode' ? name : element);
    }
  }

  #isAllowedAttribute(element: string, name: string, attributes: Attributes): boolean {
    const value = attributes[name] ?? '';
    if (name === 'r' && PLACE_OF_CELL.test(value)) return true;
    if (localName(name) === 'Ignorable') return value.split(' ').every((prefix) => `xmlns:${prefix}` in attributes);
    // The settings decide which sheets are allowed.
    if (element === 'sheet' && name === 'name') return isAllowedName(value, this.#names.settings);
    return this.#isAllowed(value, name, true) || (localName(name).toLowerCase() === 'id' && ID.test(value));
  }

  /** @param place the name of the element or attribute */
  #isAllowed(value: string, place: string, attribute = false): boolean {
    if (value.length > LONGEST_JUDGED) return false;
    const key = `${attribute} ${place} ${value}`;
    const earlier = this.#judged.get(key);
    if (earlier !== undefined) return earlier;
    const formal = !NAMES.has(place) && (FORMAL.test(value) || (attribute && FORMAL_ATTRIBUTE.test(value)));
    const allowed = formal || this.#isMentioned(value) || isAllowedName(value, this.#names.settings);
    if (this.#judged.size < MOST_CACHED) this.#judged.set(key, allowed);
    return allowed;
  }

  #isMentioned(value: string): boolean {
    const { mentioned } = this.#names;
    if (mentioned.has(value) || mentioned.has(value.toLowerCase()) || this.#isReference(value)) return true;
    const at = value.lastIndexOf('/') + 1;
    return mentioned.has(value.slice(at)) && isAllowedName(value.slice(0, at));
  }

  /** Ranges of the own sheet, or of sheets with known names: `'Sheet 1'!$A$1:$C$9`. */
  #isReference(value: string): boolean {
    return value.split(',').every((part) => {
      const [, quoted, unquoted, range = ''] = /^(?:'((?:[^']|'')*)'!|([^'!]*)!|(?=\$[A-Z]+\$))(.*)$/.exec(part) ?? [];
      const sheet = quoted?.replaceAll("''", "'") ?? unquoted;
      return (sheet === undefined || this.#names.mentioned.has(sheet)) && new RegExp(`^(?:${RANGE})$`).test(range);
    });
  }

  #report(name: string): void {
    this.found.add(CALLED.find(([called]) => called.test(name))?.[1] ?? OTHER);
  }
}

const isListed = (name: string, allowed: ReadonlySet<string>) =>
  name.startsWith('xmlns:') || name === 'xml:space' || allowed.has(localName(name));

/** Matches references to cells and rows. They are all different, so their verdicts are not stored. */
const PLACE_OF_CELL = /^[A-Z]{0,3}\d{1,7}$/;
const LONGEST_JUDGED = 10_000;
const MOST_CACHED = 1000;

const hasLongText = (code: string) =>
  code.length > LONGEST_FORMAT ||
  LONG_TEXT.test((code.match(LITERALS) ?? []).join(' ').replaceAll(/["\\]/g, '').replaceAll('0', ''));
