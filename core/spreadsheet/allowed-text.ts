import type { Attributes, XmlHandler } from './xml.ts';

/**
 * What the parts of a workbook may contain if columns are left out. Everything else counts as text, and so does a value
 * that is neither formal (a number, a place, a date, an id) nor made of known words.
 */
const ELEMENTS = new Set(
  `Application AppVersion autoFilter bookViews brk c calcChain calcPr category col colBreaks cols Company
  conditionalFormatting contentStatus coreProperties created creator dataValidations Default definedName definedNames
  description dimension DocSecurity drawing evenFooter evenHeader fileRecoveryPr fileVersion firstFooter firstHeader
  headerFooter HeadingPairs hyperlinks HyperlinksChanged i4 ignoredError ignoredErrors is keywords language
  lastModifiedBy lastPrinted legacyDrawing LinksUpToDate lpstr Manager mergeCell mergeCells modified oddFooter
  oddHeader outlinePr Override pageMargins pageSetup pageSetUpPr pane phoneticPr printOptions Properties r
  Relationship Relationships revision revisionPtr row rowBreaks ScaleCrop selection SharedDoc sheet sheetCalcPr
  sheetData sheetFormatPr sheetPr sheetProtection sheets sheetView sheetViews si sortCondition sortState sst subject
  t tabColor table tableColumn tableColumns tablePart tableParts tableStyleInfo Template title TitlesOfParts
  TotalTime Types v variant vector version workbook workbookPr workbookProtection workbookView worksheet`.split(/\s+/),
);
/** Elements with texts. */
const WITH_TEXT = new Set(
  `Application AppVersion category Company contentStatus created creator definedName description DocSecurity
  HyperlinksChanged i4 keywords language lastModifiedBy lastPrinted LinksUpToDate lpstr Manager modified revision
  ScaleCrop SharedDoc subject Template title TotalTime version`.split(/\s+/),
);
/** Formats: any elements and attributes are allowed below them. */
const FORMATS = new Set(['rPr', 'styleSheet', 'theme']);
const ATTRIBUTES = new Set(
  `a activeCell activeCellId activePane activeTab alignment alignWithMargins allowRefreshQuery applyStyles appName
  auto autoCompressPictures autoFilter autoFilterDateGrouping autoPageBreaks backupFile baseColWidth baseType bestFit
  blackAndWhite bottom calcCalc calcCompleted calcId calcMode calcOnSave calculatedColumn caseSensitive cellComments
  checkCompatibility cm coauthVersionLast coauthVersionMax codeName collapsed colorId columnSort concurrentCalc
  concurrentManualCount conformance ContentType copies count customFormat customHeight customWidth dataDxfId date1904
  dateCompatibility defaultColWidth defaultGridColor defaultRowHeight defaultThemeVersion deleteColumns deleteRows
  descending differentFirst differentOddEven disablePrompts displayName documentId draft dyDescent emptyCellReference
  enableFormatConditionsCalculation errors evalError Extension filterMode filterPrivacy firstPageNumber firstSheet
  fitToHeight fitToPage fitToWidth fontId footer forceFullCalc formatCells formatColumns formatRows formula
  formulaRange fullCalcOnLoad fullPrecision gridLines gridLinesSet header headerRowCount headerRowDxfId headings
  hidden hidePivotFieldList horizontalCentered horizontalDpi ht i Id id Ignorable indexed insertColumns
  insertHyperlinks insertRow insertRows insertRowShift iterate iterateCount iterateDelta l lastEdited left
  listDataValidation localSheetId lockRevision lockStructure lockWindows lowestEdited man manualBreakCount max min
  minimized name numberStoredAsText objects orientation outlineLevel outlineLevelCol outlineLevelRow pageOrder pane
  paperHeight paperSize paperWidth PartName ph phonetic pivotTables pt published r ref refMode repairLoad
  revIDLastSave rgb right rightToLeft rupBuild s saveExternalLinkValues scale scaleWithDoc scenarios
  selectLockedCells selectUnlockedCells sheet sheetId showColumnStripes showFirstColumn showFormulas showGridLines
  showHorizontalScroll showInkAnnotation showLastColumn showObjects showOutlineSymbols showRowColHeaders
  showRowStripes showRuler showSheetTabs showVerticalScroll showWhiteSpace showZeros size sort sortMethod space spans
  sqref state style summaryBelow summaryRight syncHorizontal syncRef syncVertical t tableType tabRatio tabSelected
  Target TargetMode theme thickBot thickBottom thickTop tint top topLeftCell totalsRowCount totalsRowDxfId
  totalsRowShown transitionEntry transitionEvaluation twoDigitTextYear Type type uid uidLastSave uniqueCount
  unlockedFormula updateLinks useFirstPageNumber usePrinterDefaults verticalCentered verticalDpi view visibility vm
  width windowHeight windowProtection windowWidth workbookViewId xSplit xWindow ySplit yWindow zeroHeight zoomScale
  zoomScaleNormal zoomScalePageLayoutView zoomScaleSheetLayoutView zoomToFit`.split(/\s+/),
);

/** Words of the file format, of the programs that write it, and of the names that these give to sheets and files. */
const WORDS = new Set(
  `2006 ac app application author auto bin bmp bottomleft bottomright bottomtop builtin calc calcchain center chart com
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
  apache aspose axlsx caxlsx cells closedxml compatible docs excelize fastexcel go google jxls npoi numbers rust spire syncfusion wps xuri corporation epplus excel exceljs libreoffice openpyxl openspout openxml phpexcel phpspreadsheet poi
  rubyxl sheetjs spout sxssf xlsx xlsxwriter xlsm csv zip filterdatabase print titles area
  all blad daily data database date export exported exports feuil file foglio full hoja list nightly page part planilha
  records report result results tab tabelle total лист arkusz גיליון דוח ייצוא
  activities calls companies contacts customers deals emails events invoices leads lead meetings opportunities orders policies products
  tasks tickets users customer contact deal meeting task order product call לידים לקוחות פגישות משימות אנשי קשר`.split(
    /\s+/,
  ),
);

const PLACE = String.raw`\$?[A-Z]{1,3}\$?\d{1,7}`;
const RANGE = String.raw`${PLACE}(?::${PLACE})?|\$?[A-Z]{1,3}:\$?[A-Z]{1,3}|\$?\d{1,7}:\$?\d{1,7}`;
const GUID = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
const TIME = String.raw`(?:19|20)\d\d[-.]?\d\d[-.]?\d\d(?:[T _-]?\d\d[:._-]?\d\d(?:[:._-]?\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?`;
const whole = (...parts: string[]) => new RegExp(parts.map((part) => `^(?:${part})$`).join('|'));
/** Numbers, times, and the version of LibreOffice. */
const FORMAL = whole(
  String.raw`[+-]?\d{0,8}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?`,
  TIME,
  String.raw`LibreOffice\w*/[\d.]+\$\w+ LibreOffice_project/[0-9a-f]*(?:\$Build-\d+)?`,
);
/** Attributes may also contain cell ranges, colours, ids and namespace prefixes. */
const FORMAL_ATTRIBUTE = whole(
  `(?:${RANGE})(?: (?:${RANGE}))*`,
  // Types of cells, and colours.
  '[snbed]|str',
  '[0-9a-fA-F]{8}',
  `(?:\\d_)?\\{${GUID}\\}`,
  String.raw`(?:x14ac|x1[4-6]|x15ac|xr\d{0,2}|x16r2|mc)(?: (?:x14ac|x1[4-6]|x15ac|xr\d{0,2}|x16r2|mc))*`,
);
const ID = /^(?:[a-zA-Z]{1,4}\d{0,6}|R[0-9a-f]{8,32})$/;
const PARTS_OF_NAMES = new RegExp(
  String.raw`${GUID}|(?<!\d)${TIME}(?!\d)|(?<!\d)\d\d[._-]\d\d[._-](?:19|20)\d\d(?!\d)|(?<!\d)1\d{9}(?:\d{3})?(?!\d)`,
);
const MOST_DIGITS = 4;
/** Namespace addresses contain years. */
const MOST_DIGITS_OF_ADDRESS = 8;

/**
 * Whether a text has only known words, at most one date or id, and a short number: `Leads 2026-11-26`, `sheet12.xml`.
 * @param names texts of the settings
 */
export function isKnownName(text: string, names: ReadonlySet<string> = new Set()): boolean {
  if (names.has(text)) return true;
  const rest = text.normalize('NFKC').replace(PARTS_OF_NAMES, ' ').toLowerCase();
  const strange = (rest.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).filter((word) => !WORDS.has(word));
  const digits = strange.join('').match(/\p{N}/gu)?.length ?? 0;
  const most = rest.startsWith('http:') ? MOST_DIGITS_OF_ADDRESS : MOST_DIGITS;
  return (
    digits <= most && strange.every((word) => (word.match(/[\p{L}\p{M}]+/gu) ?? []).every((part) => WORDS.has(part)))
  );
}

/** Names that a workbook may contain besides known words. */
export interface KnownNames {
  /** Names in the settings. */
  known: ReadonlySet<string>;
  /** Names of sheets, and texts of the header. Other parts may mention them: they are judged in their own place. */
  mentioned: ReadonlySet<string>;
}

export const NO_NAMES: KnownNames = { known: new Set(), mentioned: new Set() };

/** Words for elements and attributes that often occur where they are not allowed. */
const CALLED: [name: RegExp, what: string][] = [
  [/^f$|^calculatedColumnFormula$/, 'formulas'],
  [/^rPh$/, 'phonetic runs'],
  [/^(odd|even|first)(Header|Footer)$/, 'headers or footers of pages'],
  [/^filterColumn$/, 'filters'],
  [/^scenarios$/, 'scenarios'],
  [/^dataValidation$/, 'lists of allowed values'],
  [/^cfRule$/, 'conditional formats'],
  [/^hyperlink$|^TargetMode$/, 'links'],
  [/^definedName$/, 'names of values'],
  [/^AlternateContent$/, 'alternative content'],
  [/^extLst$/, 'extensions'],
  [/^sheet$/, 'a name of a sheet'],
  [/^table(Column)?$/, 'a name in a table'],
  [/^formatCode$/, 'a text in a number format'],
];
const OTHER = 'text in other places';
/** Literal texts in a number format, which may be longer than a unit or currency. */
const LITERALS = /"[^"]*"|(?:\\.)+/g;
const LONG_TEXT = /\p{L}{6}|\p{N}{3}/u;

/** Walks through a part and reports text that is not allowed. */
export class AllowedText implements XmlHandler {
  readonly #names: KnownNames;
  readonly #found: (what: string) => void;
  /** Verdicts on values that occurred before. */
  readonly #attributes = new Map<string, boolean>();
  readonly #texts = new Map<string, boolean>();
  /** Depth of the open element that is a format, or is not allowed; 0 = there is none. */
  #format = 0;
  #refused = 0;
  /** The element of the current text; '' after the end of an element. */
  #element = '';
  #text = '';

  /** @param found receives the words for each finding */
  constructor(names: KnownNames, found: (what: string) => void) {
    this.#names = names;
    this.#found = found;
  }

  open(name: string, depth: number, attributes: Attributes): void {
    if (this.#text !== '') this.#judgeText();
    this.#element = name;
    if (this.#refused > 0) return;
    const isFormat = this.#format > 0 || FORMATS.has(name);
    if (name === 'AlternateContent' || !(isFormat || ELEMENTS.has(name))) {
      this.#refused = depth;
      this.#report(name);
    } else if (isFormat) {
      this.#format ||= depth;
      if (hasLongText(attributes.formatCode ?? '')) this.#report('formatCode');
    } else this.#judgeAttributes(name, attributes);
  }

  text(text: string): boolean {
    if (this.#refused === 0 && this.#text.length <= LONGEST_JUDGED) this.#text += text;
    return true;
  }

  close(_name: string, depth: number): void {
    if (this.#text !== '') this.#judgeText();
    if (this.#refused === depth) this.#refused = 0;
    if (this.#format === depth) this.#format = 0;
    this.#element = '';
  }

  /** A comment or processing instruction. */
  aside(): void {
    if (this.#refused === 0) this.#found('comments in its XML');
  }

  /** A text of a cell that is not the value of the cell. */
  dropped(): void {
    this.#found(OTHER);
  }

  #judgeText(): void {
    const text = this.#text.trim();
    this.#text = '';
    const allowed = text === '' || (WITH_TEXT.has(this.#element) && this.#isAllowed(text));
    if (!allowed) this.#report(this.#element);
  }

  #judgeAttributes(element: string, attributes: Attributes): void {
    for (const name in attributes) {
      const known = ATTRIBUTES.has(localName(name)) || name.startsWith('xmlns');
      if (!(known && this.#isAllowedAttribute(element, name, attributes[name] ?? '')))
        this.#report(name === 'TargetMode' ? name : element);
    }
  }

  #isAllowedAttribute(element: string, name: string, value: string): boolean {
    if (name === 'r' && PLACE_OF_CELL.test(value)) return true;
    // The settings decide which sheets are allowed.
    if (element === 'sheet' && name === 'name') return isKnownName(value, this.#names.known);
    return this.#isAllowed(value, true) || (localName(name).toLowerCase() === 'id' && ID.test(value));
  }

  #isAllowed(value: string, attribute = false): boolean {
    const judged = attribute ? this.#attributes : this.#texts;
    const known = judged.get(value);
    if (known !== undefined) return known;
    if (value.length > LONGEST_JUDGED) return false;
    const formal = FORMAL.test(value) || (attribute && FORMAL_ATTRIBUTE.test(value));
    const allowed = formal || this.#isMentioned(value) || isKnownName(value, this.#names.known);
    if (judged.size < MOST_KNOWN) judged.set(value, allowed);
    return allowed;
  }

  #isMentioned(value: string): boolean {
    const texts = [value, value.toLowerCase(), value.replace(FOLDERS, '')];
    return texts.some((text) => this.#names.mentioned.has(text)) || this.#isReference(value);
  }

  /** Ranges of sheets with known names: `'Sheet 1'!$A$1:$C$9`. */
  #isReference(value: string): boolean {
    return value.split(',').every((part) => {
      const [, quoted, plain, range = ''] = /^(?:'((?:[^']|'')*)'|([^'!]*))!(.*)$/.exec(part) ?? [];
      const sheet = quoted?.replaceAll("''", "'") ?? plain;
      return sheet !== undefined && this.#names.mentioned.has(sheet) && new RegExp(`^(?:${RANGE})$`).test(range);
    });
  }

  #report(name: string): void {
    this.#found(CALLED.find(([called]) => called.test(name))?.[1] ?? OTHER);
  }
}

const localName = (name: string) => name.slice(name.indexOf(':') + 1);

/** A quick test for the places of cells and rows, which are all different. */
const PLACE_OF_CELL = /^[A-Z]{0,3}\d{1,7}$/;
/** The folders in the target of a relationship. */
const FOLDERS = /^\/?(?:(?:\.\.|xl|docProps|\w{1,20})\/)*/;
const LONGEST_JUDGED = 10_000;
const MOST_KNOWN = 1000;

const hasLongText = (code: string) =>
  LONG_TEXT.test((code.match(LITERALS) ?? []).join(' ').replaceAll(/["\\]/g, '').replaceAll('0', ''));
