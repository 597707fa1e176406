/**
 * What a workbook may contain if columns are left out. Each line names an element, indented below its parent, and its
 * attributes. `#` allows text. `**` allows any attributes, and any elements below. Everything else counts as text, and
 * so does a value that is neither formal (a number, a place, a date, an id) nor made of known words.
 */
const ALLOWED = {
  types: `
Types
 Default Extension ContentType
 Override PartName ContentType`,
  relationships: `
Relationships
 Relationship Id Type Target TargetMode`,
  workbook: `
workbook conformance Ignorable
 fileVersion appName lastEdited lowestEdited rupBuild codeName
 fileRecoveryPr repairLoad
 workbookPr date1904 showObjects codeName defaultThemeVersion filterPrivacy backupFile checkCompatibility dateCompatibility allowRefreshQuery autoCompressPictures showInkAnnotation saveExternalLinkValues hidePivotFieldList updateLinks
 workbookProtection lockStructure lockWindows lockRevision
 revisionPtr revIDLastSave documentId coauthVersionLast coauthVersionMax uidLastSave
 bookViews
  workbookView visibility minimized showHorizontalScroll showVerticalScroll showSheetTabs xWindow yWindow windowWidth windowHeight tabRatio firstSheet activeTab autoFilterDateGrouping uid
 sheets
  sheet name sheetId state id
 definedNames
  definedName # name localSheetId hidden
 calcPr calcId calcMode fullCalcOnLoad refMode iterate iterateCount iterateDelta fullPrecision calcCompleted calcOnSave concurrentCalc concurrentManualCount forceFullCalc calcCalc
 extLst
  ext uri
   extCalcPr stringRefSyntax
   workbookPr chartTrackingRefBase
   calcFeatures
    feature name`,
  sheet: `
worksheet Ignorable uid
 sheetPr syncHorizontal syncVertical syncRef transitionEvaluation transitionEntry published codeName filterMode enableFormatConditionsCalculation
  tabColor auto indexed rgb theme tint
  outlinePr applyStyles summaryBelow summaryRight showOutlineSymbols
  pageSetUpPr autoPageBreaks fitToPage
 dimension ref
 sheetViews
  sheetView windowProtection showFormulas showGridLines showRowColHeaders showZeros rightToLeft tabSelected showRuler showOutlineSymbols defaultGridColor showWhiteSpace view topLeftCell colorId zoomScale zoomScaleNormal zoomScaleSheetLayoutView zoomScalePageLayoutView workbookViewId zoomToFit
   pane xSplit ySplit topLeftCell activePane state
   selection pane activeCell activeCellId sqref
 sheetFormatPr baseColWidth defaultColWidth defaultRowHeight customHeight zeroHeight thickTop thickBottom outlineLevelRow outlineLevelCol dyDescent
 cols
  col min max width style hidden bestFit customWidth phonetic outlineLevel collapsed
 sheetData
  row r spans s customFormat ht hidden customHeight outlineLevel collapsed thickTop thickBot ph dyDescent
   c r s t cm vm ph
    v
    is
     t space
     r
      t space
      rPr **
     phoneticPr fontId type alignment
 sheetCalcPr fullCalcOnLoad
 sheetProtection sheet objects scenarios formatCells formatColumns formatRows insertColumns insertRows insertHyperlinks deleteColumns deleteRows selectLockedCells sort autoFilter pivotTables selectUnlockedCells
 autoFilter ref uid
  filterColumn colId hiddenButton showButton
 sortState ref caseSensitive columnSort sortMethod
  sortCondition ref descending
 mergeCells count
  mergeCell ref
 phoneticPr fontId type alignment
 conditionalFormatting sqref
 dataValidations count disablePrompts xWindow yWindow
 hyperlinks
 printOptions horizontalCentered verticalCentered headings gridLines gridLinesSet
 pageMargins left right top bottom header footer
 pageSetup paperSize paperHeight paperWidth scale firstPageNumber fitToWidth fitToHeight pageOrder orientation usePrinterDefaults blackAndWhite draft cellComments useFirstPageNumber errors horizontalDpi verticalDpi copies id
 headerFooter differentOddEven differentFirst scaleWithDoc alignWithMargins
  oddHeader
  oddFooter
  evenHeader
  evenFooter
  firstHeader
  firstFooter
 rowBreaks count manualBreakCount
  brk id min max man pt
 colBreaks count manualBreakCount
  brk id min max man pt
 ignoredErrors
  ignoredError sqref evalError twoDigitTextYear numberStoredAsText formula formulaRange unlockedFormula emptyCellReference listDataValidation calculatedColumn
 drawing id
 legacyDrawing id
 tableParts count
  tablePart id`,
  strings: `
sst count uniqueCount
 si
  t # space
  r
   t # space
   rPr **
  phoneticPr fontId type alignment`,
  styles: `
styleSheet **`,
  theme: `
theme **`,
  table: `
table id name displayName ref tableType totalsRowCount totalsRowShown headerRowCount insertRow insertRowShift published headerRowDxfId dataDxfId totalsRowDxfId uid Ignorable
 autoFilter ref uid
  filterColumn colId hiddenButton showButton
 sortState ref
  sortCondition ref descending
 tableColumns count
  tableColumn id uid name dataDxfId headerRowDxfId totalsRowDxfId totalsRowFunction totalsRowLabel
 tableStyleInfo name showFirstColumn showLastColumn showRowStripes showColumnStripes`,
  metadata: `
metadata
 metadataTypes count
  metadataType name minSupportedVersion ghostRow ghostCol edit delete copy pasteAll pasteFormulas pasteValues pasteFormats pasteComments pasteDataValidation pasteBorders pasteColWidths pasteNumberFormats merge splitFirst splitAll rowColShift clearAll clearFormats clearContents clearComments assign coerce adjust cellMeta
 futureMetadata name count
  bk
   extLst
    ext uri
     dynamicArrayProperties fDynamic fCollapsed
 cellMetadata count
  bk
   rc t v`,
  drawing: `
wsDr`,
  calculation: `
calcChain
 c r i s l t a`,
  core: `
coreProperties
 creator #
 lastModifiedBy #
 title #
 subject #
 description #
 keywords #
 category #
 contentStatus #
 language #
 version #
 revision #
 created # type
 modified # type
 lastPrinted # type`,
  application: `
Properties
 Application #
 AppVersion #
 Company #
 Manager #
 Template #
 TotalTime #
 DocSecurity #
 ScaleCrop #
 LinksUpToDate #
 SharedDoc #
 HyperlinksChanged #
 HeadingPairs
  vector size baseType
   variant
    lpstr #
    i4 #
 TitlesOfParts
  vector size baseType
   lpstr #`,
};

export interface Rule {
  name: string;
  attributes: Set<string>;
  children: Map<string, Rule>;
  /** The element may have text. */
  text: boolean;
  /** The element may have any attributes, and any elements below. */
  any: boolean;
}
export type PartKind = keyof typeof ALLOWED;

const RULES = new Map<PartKind, Rule>();

/** The root of the rules for a part, whose only child is the rule of its root element. */
export function rulesOf(kind: PartKind): Rule {
  const known = RULES.get(kind);
  if (known) return known;
  const root: Rule = { name: '', attributes: new Set(), children: new Map(), text: false, any: false };
  const path = [root];
  for (const line of ALLOWED[kind].split('\n').slice(1)) {
    const depth = line.search(/\S/);
    const [name = '', ...attributes] = line.trim().split(' ');
    const [text, any] = [attributes.includes('#'), attributes.includes('**')];
    const rule: Rule = { name, attributes: new Set(attributes), children: new Map(), text, any };
    path[depth]?.children.set(name, rule);
    path[depth + 1] = rule;
  }
  RULES.set(kind, root);
  return root;
}
