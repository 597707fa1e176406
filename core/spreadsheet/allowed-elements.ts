/**
 * What the parts of a workbook may contain if columns are left out. Each line names an element, its attributes and,
 * after `>`, the elements directly below it. An element without a line has neither. `**` allows any attributes, and any
 * elements below. Everything else counts as text, and so does a value that is neither formal (a number, a place, a date,
 * an id) nor made of known words.
 */
const ALLOWED = `
Types > Default Override
Default Extension ContentType
Override PartName ContentType

Relationships > Relationship
Relationship Id Type Target TargetMode

workbook conformance Ignorable > fileVersion fileRecoveryPr fileSharing workbookPr workbookProtection revisionPtr bookViews sheets definedNames calcPr webPublishing extLst AlternateContent
fileVersion appName lastEdited lowestEdited rupBuild codeName
fileRecoveryPr repairLoad
fileSharing readOnlyRecommended userName
AlternateContent > Choice
Choice Requires > absPath
absPath url
workbookPr defaultImageDpi date1904 showObjects codeName defaultThemeVersion filterPrivacy backupFile checkCompatibility dateCompatibility allowRefreshQuery autoCompressPictures showInkAnnotation saveExternalLinkValues hidePivotFieldList updateLinks chartTrackingRefBase
workbookProtection lockStructure lockWindows lockRevision workbookPassword workbookAlgorithmName workbookHashValue workbookSaltValue workbookSpinCount
revisionPtr revIDLastSave documentId coauthVersionLast coauthVersionMax uidLastSave
bookViews > workbookView
workbookView visibility minimized showHorizontalScroll showVerticalScroll showSheetTabs xWindow yWindow windowWidth windowHeight tabRatio firstSheet activeTab autoFilterDateGrouping uid
sheets > sheet
sheet name sheetId state id
definedNames > definedName
definedName name localSheetId hidden function vbProcedure
webPublishing css thicket longFileNames vml allowPng dpi codePage
calcPr calcId calcMode fullCalcOnLoad refMode iterate iterateCount iterateDelta fullPrecision calcCompleted calcOnSave concurrentCalc concurrentManualCount forceFullCalc calcCalc
extLst > ext
ext uri > extCalcPr workbookPr calcFeatures dynamicArrayProperties ArchID
ArchID Flags
extCalcPr stringRefSyntax
calcFeatures > feature
feature name

worksheet Ignorable uid > sheetPr dimension sheetViews sheetFormatPr cols sheetData sheetCalcPr sheetProtection autoFilter sortState mergeCells phoneticPr conditionalFormatting dataValidations hyperlinks printOptions pageMargins pageSetup headerFooter rowBreaks colBreaks ignoredErrors drawing legacyDrawing tableParts
sheetPr syncHorizontal syncVertical syncRef transitionEvaluation transitionEntry published codeName filterMode enableFormatConditionsCalculation > tabColor outlinePr pageSetUpPr
tabColor auto indexed rgb theme tint
outlinePr applyStyles summaryBelow summaryRight showOutlineSymbols
pageSetUpPr autoPageBreaks fitToPage
dimension ref
sheetViews > sheetView
sheetView windowProtection showFormulas showGridLines showRowColHeaders showZeros rightToLeft tabSelected showRuler showOutlineSymbols defaultGridColor showWhiteSpace view topLeftCell colorId zoomScale zoomScaleNormal zoomScaleSheetLayoutView zoomScalePageLayoutView workbookViewId zoomToFit > pane selection
pane xSplit ySplit topLeftCell activePane state
selection pane activeCell activeCellId sqref
sheetFormatPr baseColWidth defaultColWidth defaultRowHeight customHeight zeroHeight thickTop thickBottom outlineLevelRow outlineLevelCol dyDescent
cols > col
col min max width style hidden bestFit customWidth phonetic outlineLevel collapsed
sheetData > row
row r spans s customFormat ht hidden customHeight outlineLevel collapsed thickTop thickBot ph dyDescent > c
c r s t cm vm ph i l a > v is
is > t r phoneticPr
r > t rPr
t space
rPr **
phoneticPr fontId type alignment
sheetCalcPr fullCalcOnLoad
sheetProtection password algorithmName hashValue saltValue spinCount sheet objects scenarios formatCells formatColumns formatRows insertColumns insertRows insertHyperlinks deleteColumns deleteRows selectLockedCells sort autoFilter pivotTables selectUnlockedCells
autoFilter ref uid > filterColumn sortState
filterColumn colId hiddenButton showButton
sortState ref caseSensitive columnSort sortMethod > sortCondition
sortCondition ref descending customList
mergeCells count > mergeCell
mergeCell ref
conditionalFormatting sqref > cfRule
cfRule type dxfId priority operator stopIfTrue aboveAverage percent bottom rank stdDev equalAverage text > formula colorScale dataBar iconSet
colorScale > cfvo color
dataBar minLength maxLength showValue > cfvo color
iconSet iconSet showValue percent reverse > cfvo
cfvo type val gte
color auto indexed rgb theme tint
dataValidations count disablePrompts xWindow yWindow > dataValidation
dataValidation type operator errorStyle imeMode allowBlank showDropDown showInputMessage showErrorMessage sqref uid > formula1 formula2
printOptions horizontalCentered verticalCentered headings gridLines gridLinesSet
pageMargins left right top bottom header footer
pageSetup paperSize paperHeight paperWidth scale firstPageNumber fitToWidth fitToHeight pageOrder orientation usePrinterDefaults blackAndWhite draft cellComments useFirstPageNumber errors horizontalDpi verticalDpi copies id
headerFooter differentOddEven differentFirst scaleWithDoc alignWithMargins > oddHeader oddFooter evenHeader evenFooter firstHeader firstFooter
rowBreaks count manualBreakCount > brk
colBreaks count manualBreakCount > brk
brk id min max man pt
ignoredErrors > ignoredError
ignoredError sqref evalError twoDigitTextYear numberStoredAsText formula formulaRange unlockedFormula emptyCellReference listDataValidation calculatedColumn
drawing id
legacyDrawing id
tableParts count > tablePart
tablePart id

sst count uniqueCount > si
si > t r phoneticPr

styleSheet **
theme **

table id name displayName ref tableType totalsRowCount totalsRowShown headerRowCount insertRow insertRowShift published headerRowDxfId dataDxfId totalsRowDxfId uid Ignorable > autoFilter sortState tableColumns tableStyleInfo
tableColumns count > tableColumn
tableColumn id uid name dataDxfId headerRowDxfId totalsRowDxfId totalsRowFunction totalsRowLabel
tableStyleInfo name showFirstColumn showLastColumn showRowStripes showColumnStripes

metadata > metadataTypes futureMetadata cellMetadata
metadataTypes count > metadataType
metadataType name minSupportedVersion ghostRow ghostCol edit delete copy pasteAll pasteFormulas pasteValues pasteFormats pasteComments pasteDataValidation pasteBorders pasteColWidths pasteNumberFormats merge splitFirst splitAll rowColShift clearAll clearFormats clearContents clearComments assign coerce adjust cellMeta
futureMetadata name count > bk
bk > extLst rc
dynamicArrayProperties fDynamic fCollapsed
cellMetadata count > bk
rc t v

calcChain > c

coreProperties > creator lastModifiedBy title subject description keywords category contentStatus language version revision created modified lastPrinted
created type
modified type
lastPrinted type

Properties > Application AppVersion Company Manager Template TotalTime DocSecurity ScaleCrop LinksUpToDate SharedDoc HyperlinkBase HyperlinksChanged HeadingPairs TitlesOfParts
HeadingPairs > vector
TitlesOfParts > vector
vector size baseType > variant lpstr
variant > lpstr i4
`;

/** Elements that may have text. */
const WITH_TEXT = new Set(
  `definedName creator lastModifiedBy title subject description keywords category contentStatus language version revision
  created modified lastPrinted Application AppVersion Company Manager Template TotalTime DocSecurity ScaleCrop LinksUpToDate
  SharedDoc HyperlinksChanged lpstr i4 formula formula1 formula2`.split(/\s+/),
);

/** Elements and attributes that programs fill with texts of people: a long number in them is no number of the format. */
export const NAMES = new Set(
  `definedName creator lastModifiedBy title subject description keywords category contentStatus Company Manager Template
  lpstr formula formula1 formula2 name displayName totalsRowLabel codeName url Target val text userName
  customList`.split(/\s+/),
);

export interface Rule {
  name: string;
  attributes: ReadonlySet<string>;
  children: ReadonlySet<string>;
  /** The element may have text. */
  text: boolean;
  /** The element may have any attributes, and any elements below. */
  any: boolean;
}

const RULES = new Map(
  ALLOWED.match(/\S.*/g)?.map((line) => {
    const [[name = '', ...attributes] = [], children = []] = line.split(' > ').map((part) => part.split(' '));
    return [name, rule(name, attributes, children)];
  }),
);

function rule(name: string, attributes: string[], children: string[]): Rule {
  const text = WITH_TEXT.has(name);
  return { name, attributes: new Set(attributes), children: new Set(children), text, any: attributes.includes('**') };
}

/** The rule of an element. It does not say in which part, or below which element, the element is allowed. */
export function ruleOf(name: string): Rule {
  const found = RULES.get(name) ?? rule(name, [], []);
  RULES.set(name, found);
  return found;
}

/** The rule for the level above the root element: only the root element is allowed. */
export function rootRule(root: string): Rule {
  return rule('', [], [root]);
}
