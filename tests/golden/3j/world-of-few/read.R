# Reads the folder that this file is in: every count with its interval, and for a missing cell its upper bound.
#
#   source("published/read.R")
#   release <- tv_open("published")
#   ferry <- tv_where(tv_table(release, "on_location"), mode = "ferry", date = "2025-03-03")
#   tv_cell(ferry, tap_on_location = "Ashwood Wharf")
#
# It needs R 4.0 or newer, and the package jsonlite; files that are Parquet only also need arrow.
# A missing cell is not a zero. Sums are of the cells that are listed: `tv_rest` says what is in others.

MISS <- 0.05 # how often an interval may miss
CAUTION <- 0.7 # the part of it that chance between days is given: counts are skewed
FEWEST <- 3 # degrees of freedom: with fewer, nothing is said of the days
FEWEST_WEEKS <- 5 # other weeks from which it is estimated how weeks differ
CLEAR <- 8 # standard deviations of its noise that a total must have, for numbers to be compared as shares of it

tv_open <- function(path) {
  manifest <- file.path(path, "privacy.json")
  if (!file.exists(manifest)) stop(path, " is not a published folder: it has no privacy.json", call. = FALSE)
  privacy <- jsonlite::fromJSON(manifest, simplifyVector = FALSE)
  if (identical(privacy$layout, "opal")) {
    stop("the files of this folder have the columns of the Opal data: read data/*.csv as they are", call. = FALSE)
  }
  tables <- stats::setNames(privacy$tables, vapply(privacy$tables, function(each) each$name, ""))
  structure(list(path = path, privacy = privacy, tables = tables), class = "tv_release")
}

print.tv_release <- function(x, ...) {
  delta <- if (x$privacy$delta > 0) paste0(", delta = ", format(x$privacy$delta)) else ""
  cat(x$privacy$title, "\nepsilon = ", format(x$privacy$epsilon), delta, "; tables, each split by ",
    paste(.partition(x), collapse = ", "), ":\n",
    sep = ""
  )
  for (each in x$tables) cat("  ", each$name, ": ", paste(unlist(each$columns), collapse = " x "), "\n", sep = "")
  invisible(x)
}

# A table: as it was published, "consistent" (adjusted so that tables add up) or "finest".
tv_table <- function(release, name, version = c("published", "consistent", "finest")) {
  version <- match.arg(version)
  claim <- .claim(release, name)
  if (version != "published") {
    return(.derived(release, version, name))
  }
  if (.is_world(release)) {
    cells <- .read(release, "measurements", name)
    cells$low <- pmax(0, cells$count - claim$error_95)
    cells$high <- pmax(0, cells$count + claim$error_95)
  } else {
    cells <- .read(release, "data", name)
  }
  .frame(
    cells, claim = claim, known = .known(release, cells), release = release, definition = .definition(release, claim)
  )
}

# The rows that have these values, such as mode = "ferry", without their columns; or one of several values.
tv_where <- function(frame, ...) {
  values <- lapply(list(...), .labels)
  .kept(frame, values, names(values)[lengths(values) == 1])
}

# The rows of the days from the first to the last; a month, such as "2025-03", or a year has all its days.
tv_between <- function(frame, first, last) {
  days <- .days(frame)
  first <- .labels(first)
  last <- .labels(last)
  days <- days[substr(days, 1, nchar(first)) >= first & substr(days, 1, nchar(last)) <= last]
  if (!length(days)) stop("there is no day from ", first, " to ", last, call. = FALSE)
  .kept(frame, list(date = days))
}

# The mean of a day. From noise_low to noise_high lies the mean of the true counts of these days; from low to high that
# of days like these, as far as their spread tells. No mean where some day is not published.
tv_mean <- function(frame) {
  daily <- .by_day(frame)
  groups <- .groups(daily)
  panel <- .panel(daily, groups)
  number <- length(panel$days)
  found <- .rounded(.contrast(panel, rep(1 / number, number), .strata(panel$days), MISS))
  .changes(groups, list(days = rep(number, nrow(groups)), mean = found$value), found, daily)
}

# The change of a day per week, along the straight line that fits best, days of the week being compared alike.
tv_trend <- function(frame) .adjustable(function(comparisons) {
  daily <- .by_day(frame)
  groups <- .groups(daily)
  panel <- .panel(daily, groups)
  number <- length(panel$days)
  if (number < 3) stop("a trend needs at least three days: ", paste(.days(daily), collapse = ", "), call. = FALSE)
  design <- cbind(.strata(panel$days, others = 1), as.numeric(panel$days - panel$days[1]) / 7)
  weights <- .last_row(.inverse(design))
  weekly <- sum(tapply(weights, .week(panel$days), sum)^2)
  found <- .rounded(.contrast(panel, weights, design, MISS / comparisons, .between_weeks(panel), weekly))
  .changes(groups, list(days = rep(number, nrow(groups)), per_week = found$value), found, verdict = TRUE)
})

# The share of each number in those of another table, over all days: of a peak in a day, of a place in a mode.
tv_share <- function(frame, of) {
  part <- .by_day(frame)
  whole <- .by_day(of)
  if (!identical(.days(part), .days(whole))) {
    stop("a share is of the same days: choose them with tv_where or tv_between in both tables", call. = FALSE)
  }
  groups <- .groups(part)
  outer <- setdiff(.keys(whole), "date")
  if (length(other <- setdiff(outer, names(groups)))) {
    stop("the whole of a share has no column `", other[1], "` of its own: add it up, or choose one value", call. = FALSE)
  }
  part <- .panel(part, groups)
  whole <- .panel(whole, groups[outer])
  number <- length(part$days)
  total <- rowSums(whole$counts)
  total[total <= 0] <- NA
  value <- rowSums(part$counts) / total
  spread <- sqrt(rowSums(part$noise) + value^2 * rowSums(whole$noise))
  half <- ceiling(spread * .quantile(MISS, part$gaussian && whole$gaussian)) / total
  chance <- rep(NA_real_, length(value))
  if (number > FEWEST) {
    rest <- part$counts - value * whole$counts
    deviation <- sqrt(rowSums((rest - rowMeans(rest))^2) / (number - 1) * number) / total
    chance <- pmax(stats::qt(1 - CAUTION * MISS / 2, number - 1) * deviation, half)
  }
  complete <- .complete(part) & .complete(whole)
  chance[!complete] <- NA
  found <- list(
    noise_low = pmax(value * total / (total + rowSums(whole$left_out)) - half, 0),
    noise_high = pmax(value + rowSums(part$left_out) / total + half, 0),
    low = pmax(value - chance, 0),
    high = pmax(value + chance, 0)
  )
  .changes(groups, list(share = ifelse(complete, value, NA)), found)
}

# One cell: its count and interval; without a count where it was not published.
tv_cell <- function(frame, ...) {
  missing <- setdiff(.keys(frame), names(list(...)))
  if (length(missing)) stop("say which ", paste(missing, collapse = " and "), call. = FALSE)
  found <- tv_where(frame, ...)
  if (nrow(found)) {
    return(data.frame(count = found$count[1], low = found$low[1], high = found$high[1]))
  }
  data.frame(count = NA_real_, low = 0, high = .published(frame)$absent_95)
}

# The listed cells added up, by some keys or all in one, with the interval of these cells. Small cells are not listed,
# and not in the sum: `tv_total` and coarser tables have all trips, `tv_rest` what is left out.
tv_sum <- function(frame, by = character()) {
  unknown <- setdiff(by, .keys(frame))
  if (length(unknown)) stop("there is no column `", unknown[1], "`", .near(unknown[1], .keys(frame)), call. = FALSE)
  if (isFALSE(attr(frame, "adds_up"))) stop("differences and profiles are not added up", call. = FALSE)
  claim <- attr(frame, "claim")
  below <- frame$count - frame$low
  above <- frame$high - frame$count
  if (!is.null(claim)) {
    below <- .lean(claim, frame$count)
    above <- 0 * below
  }
  group <- if (length(by)) do.call(paste, c(unname(as.list(frame[by])), sep = "\r")) else rep("", nrow(frame))
  first <- !duplicated(group)
  groups <- factor(group, levels = group[first])
  total <- function(numbers) if (length(numbers)) as.vector(tapply(numbers, groups, sum)) else 0
  counts <- total(frame$count)
  cells <- if (length(group)) as.vector(table(groups)) else 0
  some <- unique(cells)
  noise <- if (is.null(claim)) 0 else vapply(some, function(n) .spread(list(claim), n, MISS), 0)[match(cells, some)]
  sums <- data.frame(
    listed = counts,
    listed_low = pmax(0, counts - ceiling(total(below)) - noise),
    listed_high = pmax(0, counts + ceiling(total(above)) + noise),
    cells = cells
  )
  keys <- as.data.frame(frame)[first, by, drop = FALSE]
  sorted <- if (length(by)) do.call(order, c(unname(as.list(keys)), method = "radix")) else 1
  if (length(by)) sums <- cbind(keys, sums)[sorted, , drop = FALSE]
  history <- attr(frame, "history")
  dated <- !is.null(claim) && "date" %in% by
  if (dated && !is.null(history)) history <- tv_sum(history, by)
  sums <- .frame(
    sums, known = attr(frame, "known"), adds_up = FALSE, chosen = attr(frame, "chosen"), history = if (dated) history,
    definition = attr(frame, "definition")
  )
  if (dated) {
    expected <- prod(vapply(setdiff(.keys(frame), by), function(key) .number_of(frame, key), 0))
    hidden <- function(cells) ifelse(cells < expected & .absent(claim) > 0, (expected - cells) * .absent(claim), 0)
    attr(sums, "sums") <- list(
      noise = cells[sorted] * .variance(claim), left_out = hidden(cells[sorted]), none = hidden(0),
      gaussian = .is_gaussian(claim)
    )
  }
  sums
}

# Differences of two tables of the same columns: of counts if both are of one day, of a mean day if they are by day.
# From noise_low to noise_high lies the difference of the true counts; low to high has chance between days, too, where
# there are enough of them: the difference is real if 0 is outside. No number where one of the cells was not published.
tv_minus <- function(frame, other) .adjustable(function(comparisons) {
  if (!identical(.keys(frame), .keys(other))) stop("the tables have different columns", call. = FALSE)
  changed <- .redefined(frame, other)
  if (length(changed)) {
    stop("the tables count different things, which cannot be compared: ", paste(changed, collapse = ", "), call. = FALSE)
  }
  miss <- MISS / comparisons
  of_cells <- !"date" %in% .keys(frame) && "count" %in% names(frame)
  dated <- "date" %in% .keys(frame) || !(is.null(attr(frame, "history")) || is.null(attr(other, "history")))
  if (!of_cells && !dated) stop("differences are of published tables, or of their sums by day", call. = FALSE)
  groups <- .groups(frame, other)
  numbers <- if (of_cells) .of_cells(frame, other, groups, miss)
  if (!dated) {
    unknown <- rep(NA_real_, nrow(groups))
    return(.changes(groups, numbers["count"], c(numbers, list(low = unknown, high = unknown)), verdict = TRUE))
  }
  after <- .by_day(frame)
  before <- .by_day(other)
  found <- .rounded(.change(.panel(after, groups), .panel(before, groups), .past(frame, after, before, groups), miss))
  if (!of_cells) {
    return(.changes(groups, list(mean = found$value), found, verdict = TRUE))
  }
  .changes(groups, numbers["count"], c(numbers, found[c("low", "high")]), verdict = TRUE)
})

# The same differences or trends with intervals that hold for all of them together (Bonferroni).
tv_adjusted <- function(changes) {
  again <- attr(changes, "again")
  if (is.null(again) || nrow(changes) != attr(changes, "comparisons")) {
    stop("these differences were chosen from others: adjust them before choosing", call. = FALSE)
  }
  found <- again(nrow(changes))
  attr(found, "together") <- nrow(changes)
  found
}

# Totals of parts, and their sum for some of them.
tv_totals <- function(release) {
  if (!"total" %in% names(release$tables)) stop(release$path, " has no table of totals", call. = FALSE)
  tv_table(release, "total")
}

tv_total <- function(release, ...) {
  parts <- tv_where(tv_totals(release), ...)
  if (!nrow(parts)) stop("nothing is published of that: how many trips it has, the folder does not say", call. = FALSE)
  if (!length(.keys(parts))) {
    return(as.data.frame(parts)[c("count", "low", "high")])
  }
  sums <- tv_sum(parts)
  claim <- attr(parts, "claim")
  missing <- max(0, prod(lengths(attr(parts, "known")[.keys(parts)])) - nrow(parts))
  if (missing && grepl("listed", claim$noise)) stop("some of these parts are not published", call. = FALSE)
  data.frame(count = sums$listed, low = sums$listed_low, high = sums$listed_high + missing * claim$absent_95)
}

# For each cell of a coarser table: what the finer one lists of it, and how much is in other cells.
tv_rest <- function(release, fine, coarse) {
  .claim(release, fine)
  .claim(release, coarse)
  .derived(release, "consistent", paste0(fine, ".by.", coarse))
}

# All times of a day in one part; those that were not published without a count.
tv_profile <- function(release, column, ...) {
  found <- Filter(function(each) identical(unlist(each$columns), column), release$tables)
  if (!length(found)) stop("no table has just the column `", column, "`", call. = FALSE)
  left <- setdiff(.partition(release), names(list(...)))
  if (length(left)) stop("say which ", paste(left, collapse = " and "), ": a profile is that of one part", call. = FALSE)
  frame <- tv_where(tv_table(release, found[[1]]$name), ...)
  if (!identical(release$privacy$columns[[column]], "time") || .is_world(release)) {
    return(frame)
  }
  bins <- .times(release, found[[1]])
  row <- match(bins, frame[[column]])
  listed <- !is.na(row)
  cells <- data.frame(
    bins,
    count = frame$count[row],
    low = ifelse(listed, frame$low[row], 0),
    high = ifelse(listed, frame$high[row], found[[1]]$absent_95),
    published = listed
  )
  names(cells)[1] <- column
  .frame(cells, adds_up = FALSE)
}

# Estimates of a known world by these columns, besides those that split every table; where the folder has a file of them.
tv_estimate <- function(release, columns) {
  files <- list.files(file.path(release$path, "estimates"), pattern = "[.](csv|parquet)$")
  files <- files[order(!endsWith(files, ".csv"))] # what needs arrow comes last
  wanted <- sort(union(.partition(release), columns))
  for (name in unique(sub("[.][a-z]+$", "", files))) {
    cells <- .read(release, "estimates", name)
    if (identical(sort(setdiff(names(cells), .numbers)), wanted)) {
      return(.frame(cells, adds_up = FALSE))
    }
  }
  stop("the folder has no file of estimates by ", paste(columns, collapse = ", "), call. = FALSE)
}

# The measured table of a known world with just these columns: every cell, negative numbers too.
tv_measurement <- function(release, columns) {
  if (!.is_world(release)) stop(release$path, " has no measurements: it is not of a known world", call. = FALSE)
  columns <- setdiff(columns, .partition(release))
  found <- Filter(function(each) setequal(unlist(each$columns), columns), release$tables)
  if (!length(found)) stop("no table has just the columns ", paste(columns, collapse = ", "), call. = FALSE)
  tv_table(release, found[[1]]$name)
}

# Synthetic trips, one row each, whose sums are the estimates. Nobody's: none took place.
tv_trips <- function(release) .read(release, "trips", "synthetic_trips")

# --- files ---------------------------------------------------------------------------------------------------------

.numbers <- c(
  "count", "low", "high", "weight", "cells", "published", "total", "listed", "other", "other_low", "other_high",
  "listed_low", "listed_high", "noise_low", "noise_high", "days", "mean"
)

# Places are texts: postcodes are no numbers, and a stop called NA is a stop.
.read <- function(release, folder, name) {
  path <- file.path(release$path, folder, paste0(name, ".csv"))
  if (file.exists(path)) {
    cells <- utils::read.csv(path,
      colClasses = "character", na.strings = character(), check.names = FALSE, encoding = "UTF-8"
    )
  } else {
    path <- sub("csv$", "parquet", path)
    if (!file.exists(path)) stop(release$path, " has no ", folder, " version of `", name, "`", call. = FALSE)
    if (!requireNamespace("arrow", quietly = TRUE)) stop(path, " needs the package arrow", call. = FALSE)
    cells <- as.data.frame(arrow::read_parquet(path))
    cells[] <- lapply(cells, as.character)
  }
  numbers <- intersect(names(cells), .numbers)
  cells[numbers] <- lapply(cells[numbers], as.numeric)
  cells
}

.derived <- function(release, folder, name) {
  cells <- .read(release, folder, name)
  .frame(cells, known = .known(release, cells), release = release)
}

.claim <- function(release, name) {
  if (!name %in% names(release$tables)) {
    stop("there is no table `", name, "`", .near(name, names(release$tables)), call. = FALSE)
  }
  release$tables[[name]]
}

# What a table counts: where two tables differ in it, their numbers are not compared.
.definition <- function(release, claim) {
  stated <- release$privacy
  kinds <- unlist(stated$columns[c(.partition(release), unlist(claim$columns))])
  calendars <- stated$calendars[sort(as.character(names(stated$calendars)))]
  found <- list(
    unit = list(stated$unit, stated$bounds$trips_per_day, stated$bounds$trips_per_card), rows = stated$rows,
    day = c(
      list(stated$day$starts, stated$day$after_midnight, stated$day$timezone),
      lapply(calendars, function(each) list(each$period, each$kinds))
    )
  )
  if ("time" %in% kinds) found$bins <- list(stated$time_minutes, stated$service, claim$level)
  if ("location" %in% kinds) {
    files <- stated$public_files_sha256
    wider <- if (!is.null(claim$level$location)) stated$wider[[claim$level$location]]
    found$areas <- list(stated$areas, claim$level$location, wider, files[grepl("^(lookup|polygons)", names(files))])
  }
  found
}

.redefined <- function(frame, other) {
  of <- function(table) {
    own <- attr(table, "definition")
    if (is.null(own)) attr(attr(table, "history"), "definition") else own
  }
  ours <- of(frame)
  theirs <- of(other)
  if (is.null(ours) || is.null(theirs)) {
    return(character())
  }
  Filter(function(what) !identical(ours[[what]], theirs[[what]]), names(ours))
}

.is_world <- function(release) identical(release$privacy$mechanism, "world")

.partition <- function(release) as.character(unlist(release$privacy$partition))

# A misspelt day, mode or place must not look like one with nothing published.
.require <- function(frame, key, value) {
  known <- attr(frame, "known")[[key]]
  release <- attr(frame, "release")
  place <- !is.null(release) && identical(release$privacy$columns[[key]], "location")
  if (is.null(known) && place) known <- .places(release)
  if (!is.null(known) && !value %in% known) {
    noun <- if (place) "place" else key
    stop("there is no ", noun, " `", value, "`", if (place) " in the folder", .near(value, known), call. = FALSE)
  }
}

# The places that occur anywhere in the folder: in a table, or in its public lists.
.places <- function(release) {
  kinds <- unlist(release$privacy$columns)
  columns <- names(kinds)[kinds == "location"]
  folder <- if (.is_world(release)) "measurements" else "data"
  found <- lapply(names(release$tables), function(name) {
    cells <- .read(release, folder, name)
    unique(unlist(cells[intersect(columns, names(cells))]))
  })
  shapes <- file.path(release$path, "areas.geojson")
  if (file.exists(shapes)) {
    features <- jsonlite::fromJSON(shapes, simplifyVector = FALSE)$features
    found <- c(found, vapply(features, function(each) each$properties$name, ""))
  }
  if (file.exists(file.path(release$path, "wider-areas.csv"))) {
    wider <- utils::read.csv(file.path(release$path, "wider-areas.csv"),
      colClasses = "character", na.strings = character(), check.names = FALSE, encoding = "UTF-8"
    )
    found <- c(found, wider$place, wider$area)
  }
  unique(unlist(found))
}

.known <- function(release, cells) {
  parts <- intersect(.partition(release), names(cells))
  folder <- if (.is_world(release)) "measurements" else "data"
  every <- lapply(names(release$tables), function(name) if (length(parts)) .read(release, folder, name)[parts])
  stats::setNames(lapply(parts, function(part) unique(unlist(lapply(every, `[[`, part)))), parts)
}

.times <- function(release, claim) {
  clock <- function(text) sum(as.numeric(strsplit(text, ":", fixed = TRUE)[[1]]) * c(60, 1))
  first <- clock(release$privacy$day$starts)
  starts <- vapply(claim$level$times, clock, 0)
  starts <- sort(unique(c(first, starts + 24 * 60 * (starts < first))))
  if (is.null(claim$level$times)) {
    minutes <- c(claim$level$time_minutes, release$privacy$time_minutes)[1]
    starts <- seq(first, first + 24 * 60 - 1, by = minutes)
  }
  sprintf("%02d:%02d", starts %/% 60, starts %% 60)
}

.near <- function(value, values) {
  found <- agrep(value, values, max.distance = 0.3, value = TRUE, fixed = TRUE)
  if (length(found)) paste0(": did you mean `", found[1], "`?") else paste0(" (", paste(utils::head(values, 8), collapse = ", "), ")")
}

# --- frames --------------------------------------------------------------------------------------------------------

.frame <- function(
    cells, claim = NULL, known = list(), adds_up = TRUE, release = NULL, chosen = list(), history = NULL,
    definition = NULL) {
  rownames(cells) <- NULL
  structure(cells,
    class = c("tv_frame", "data.frame"), claim = claim, known = known, adds_up = adds_up, release = release,
    chosen = chosen, history = history, definition = definition
  )
}

# The rows that have one of some values of each column, without the columns that are dropped. It keeps in mind the same
# cells on all days.
.kept <- function(frame, values, dropped = character()) {
  chosen <- attr(frame, "chosen")
  kept <- rep(TRUE, nrow(frame))
  for (key in names(values)) {
    if (!key %in% .keys(frame)) stop("there is no column `", key, "`", .near(key, .keys(frame)), call. = FALSE)
    for (value in setdiff(values[[key]], frame[[key]])) .require(frame, key, value)
    kept <- kept & frame[[key]] %in% values[[key]]
    chosen[[key]] <- if (is.null(chosen[[key]])) values[[key]] else intersect(chosen[[key]], values[[key]])
  }
  history <- attr(frame, "history")
  if (is.null(history) && "date" %in% names(values)) history <- frame
  others <- setdiff(names(values), "date")
  if (!is.null(history) && length(others)) history <- .kept(history, values[others], intersect(dropped, others))
  found <- as.data.frame(frame)[kept, setdiff(names(frame), dropped), drop = FALSE]
  found <- .frame(
    found, attr(frame, "claim"), attr(frame, "known"), attr(frame, "adds_up"), attr(frame, "release"), chosen, history,
    attr(frame, "definition")
  )
  sums <- attr(frame, "sums")
  if (!is.null(sums)) attr(found, "sums") <- utils::modifyList(sums, lapply(sums[c("noise", "left_out")], `[`, kept))
  found
}

# Values as tables have them: days as texts.
.labels <- function(values) if (inherits(values, "POSIXt")) format(values, "%Y-%m-%d") else as.character(values)

# The days that a table is of: those that were chosen, or all.
.days <- function(frame) {
  if (!"date" %in% .keys(frame)) stop("there is no column `date`", call. = FALSE)
  days <- attr(frame, "chosen")$date
  if (is.null(days)) days <- attr(frame, "known")$date
  sort(if (is.null(days)) unique(frame$date) else days)
}

as.data.frame.tv_frame <- function(x, ...) {
  attributes(x) <- list(names = names(x), row.names = attr(x, "row.names"), class = "data.frame")
  x
}

print.tv_frame <- function(x, ...) {
  print(as.data.frame(x), ...)
  number <- attr(x, "comparisons")
  together <- attr(x, "together")
  if (!is.null(together) && together > 1) {
    cat("these intervals hold for all of", format(together, big.mark = ","), "comparisons together\n")
  } else if (!is.null(number) && number > 1) {
    by_chance <- format(ceiling(10 * number * MISS - 1e-9) / 10, big.mark = ",", nsmall = 0)
    cat(format(number, big.mark = ","), "comparisons: by chance alone, at most", by_chance,
      "of them look real on average; tv_adjusted() allows for that\n")
  }
  invisible(x)
}

.keys <- function(frame) setdiff(names(frame), c(.numbers, "share", "per_week", "real"))

.published <- function(frame) {
  claim <- attr(frame, "claim")
  if (is.null(claim) || isFALSE(attr(frame, "adds_up"))) stop("only counts as they were published have that", call. = FALSE)
  claim
}

# --- days ----------------------------------------------------------------------------------------------------------

# The numbers of a table by day: its own, or those that it was made from.
.by_day <- function(frame) {
  if (!"date" %in% .keys(frame)) {
    history <- attr(frame, "history")
    if (is.null(history)) stop("there is no column `date`", call. = FALSE)
    frame <- .kept(history, list(date = attr(frame, "chosen")$date))
  }
  sums <- attr(frame, "sums")
  if (is.null(sums)) .published(frame)
  if (!is.null(sums) && length(sums$noise) != nrow(frame)) {
    stop("rows of these sums were chosen: choose them with tv_where", call. = FALSE)
  }
  frame
}

# The cells of tables, whatever the day, in order.
.groups <- function(...) {
  keys <- setdiff(.keys(..1), "date")
  cells <- do.call(rbind, lapply(list(...), function(frame) as.data.frame(frame)[keys]))
  if (!length(keys)) {
    return(data.frame(row.names = 1))
  }
  cells <- cells[!duplicated(.labelled(cells, keys)), , drop = FALSE]
  cells[do.call(order, c(unname(as.list(cells)), method = "radix")), , drop = FALSE]
}

.labelled <- function(cells, keys) {
  if (length(keys)) do.call(paste, c(unname(as.list(cells[keys])), sep = "\r")) else rep("", nrow(cells))
}

# The numbers of some cells by day, what is not published of each at most, and the variance of its noise.
.panel <- function(frame, groups) {
  labels <- .days(frame)
  days <- as.Date(labels, format = "%Y-%m-%d")
  if (anyNA(days)) stop("its days are labels, and not days of a calendar", call. = FALSE)
  sums <- attr(frame, "sums")
  claim <- attr(frame, "claim")
  if (is.null(sums)) {
    sums <- list(noise = .variance(claim), left_out = 0, none = .absent(claim), gaussian = .is_gaussian(claim))
  } else if (any(is.infinite(c(sums$none, sums$left_out)))) {
    stop("nobody knows how much these sums leave out: add up a coarser table, or compare cells", call. = FALSE)
  }
  ids <- .labelled(groups, names(groups))
  row <- match(.labelled(as.data.frame(frame), names(groups)), unique(ids))
  there <- !is.na(row)
  at <- cbind(row, match(frame$date, labels))[there, , drop = FALSE]
  filled <- function(numbers, none) {
    cells <- matrix(none, length(unique(ids)), length(days))
    cells[at] <- rep_len(numbers, nrow(frame))[there]
    cells[match(ids, unique(ids)), , drop = FALSE]
  }
  list(
    days = days, counts = filled(if (is.null(claim)) frame$listed else frame$count, 0),
    left_out = filled(sums$left_out, sums$none), noise = filled(sums$noise, 0), gaussian = sums$gaussian
  )
}

.complete <- function(panel) rowSums(panel$left_out != 0) == 0

# The same numbers on all days, where more are known than those that are compared.
.past <- function(frame, after, before, groups) {
  history <- attr(frame, "history")
  if (is.null(history) || length(.days(history)) <= length(.days(after)) + length(.days(before))) {
    return(NULL)
  }
  .panel(history, groups)
}

# Key columns, numbers and both intervals as a table.
.changes <- function(groups, numbers, found, daily = NULL, verdict = FALSE) {
  ends <- found[c("noise_low", "noise_high", "low", "high")]
  cells <- if (length(groups)) data.frame(groups, numbers, ends, check.names = FALSE) else data.frame(numbers, ends)
  if (verdict) cells$real <- cells$low > 0 | cells$high < 0
  if (is.null(daily)) {
    return(.frame(cells, adds_up = FALSE))
  }
  history <- attr(daily, "history")
  chosen <- attr(daily, "chosen")
  chosen$date <- .days(daily)
  .frame(cells, adds_up = FALSE, chosen = chosen, history = if (is.null(history)) daily else history)
}

.adjustable <- function(make) {
  found <- make(1)
  attr(found, "again") <- make
  attr(found, "comparisons") <- nrow(found)
  found
}

# The difference of each cell, with exact intervals: half of the misses for cells that are both there; of the other
# half, half for each cell by itself.
.of_cells <- function(frame, other, groups, miss) {
  claims <- list(.published(frame), .published(other))
  ids <- .labelled(groups, names(groups))
  counts <- low <- high <- list()
  for (n in 1:2) {
    own <- list(frame, other)[[n]]
    rule <- .interval(claims[[n]], miss / 4)
    count <- own$count[match(ids, .labelled(as.data.frame(own), names(groups)))]
    counts[[n]] <- count
    low[[n]] <- ifelse(is.na(count), 0, pmax(rule$least, count - rule$half))
    high[[n]] <- ifelse(is.na(count), rule$absent, pmax(0, count + rule$half))
  }
  half <- .spread(claims, 1, miss / 2)
  count <- counts[[1]] - counts[[2]]
  list(
    count = count,
    noise_low = ifelse(is.na(count), low[[1]] - high[[2]], count - half),
    noise_high = ifelse(is.na(count), high[[1]] - low[[2]], count + half)
  )
}

# --- chance --------------------------------------------------------------------------------------------------------

.inverse <- function(design) {
  parts <- svd(design)
  kept <- parts$d > max(parts$d) * 1e-10
  parts$v[, kept, drop = FALSE] %*% (t(parts$u[, kept, drop = FALSE]) / parts$d[kept])
}

.last_row <- function(matrix) {
  row <- matrix[nrow(matrix), ]
  row[abs(row) < 1e-12] <- 0
  row
}

.weekday <- function(days) (as.POSIXlt(days)$wday + 6) %% 7 # Monday is 0

.week <- function(days) (as.numeric(days) + 3) %/% 7 # from Monday to Sunday

.kinds <- function(days) list(.weekday(days), pmax(.weekday(days), 4), as.numeric(.weekday(days) > 4))

.columns <- function(labels) outer(labels, sort(unique(labels)), "==") + 0

# Which days are alike, as columns of a design: the days of the week; or its kinds, or none, if days are few.
.strata <- function(days, others = 0) {
  for (labels in .kinds(days)) {
    if (length(days) - length(unique(labels)) - others >= FEWEST) {
      return(.columns(labels))
    }
  }
  matrix(1, length(days), 1)
}

# The variance of numbers around what a design explains, and its degrees of freedom.
.residual <- function(counts, design) {
  explained <- design %*% .inverse(design)
  freedom <- nrow(design) - round(sum(diag(explained)))
  if (freedom < FEWEST) {
    return(NULL)
  }
  list(variance = rowSums((counts - counts %*% t(explained))^2) / freedom, freedom = freedom)
}

# The variance of the mean of a week, from how each week differs from the next (von Neumann 1941).
.between_weeks <- function(panel) {
  places <- Filter(function(each) length(each) == 7, split(seq_along(panel$days), .week(panel$days)))
  if (length(places) < FEWEST_WEEKS) {
    return(NULL)
  }
  means <- vapply(places, function(each) rowMeans(panel$counts[, each, drop = FALSE]), numeric(nrow(panel$counts)))
  means <- matrix(means, nrow(panel$counts))
  steps <- means[, -1, drop = FALSE] - means[, -ncol(means), drop = FALSE]
  list(variance = rowMeans(steps^2) / 2, freedom = (2 * (length(places) - 1)) %/% 3)
}

# How far a contrast is off by noise and days: from residuals of days, or from weeks if these differ by more.
.chance <- function(counts, design, weights, miss, week, weeks) {
  reach <- function(found, size) stats::qt(1 - CAUTION * miss / 2, found$freedom) * sqrt(found$variance * size)
  residual <- .residual(counts, design)
  half <- if (is.null(residual)) rep(NA_real_, nrow(counts)) else reach(residual, sum(weights^2))
  if (is.null(week)) half else pmax(half, reach(week, weeks), na.rm = TRUE)
}

# A weighted sum over days for each row, its days being explained by a design, with both intervals.
.contrast <- function(panel, weights, design, miss, week = NULL, weeks = 0) {
  value <- as.vector(panel$counts %*% weights)
  under <- over <- 0 * value
  for (day in which(weights != 0)) {
    hidden <- ifelse(panel$left_out[, day] > 0, panel$left_out[, day] * weights[day], 0)
    if (weights[day] < 0) under <- under + hidden else over <- over + hidden
  }
  step <- max(abs(weights))
  spread <- sqrt(as.vector(panel$noise %*% weights^2)) * .quantile(miss, panel$gaussian)
  noise <- ceiling(spread / step - 1e-9) * step # whole counts, away from zero
  # The residuals contain the noise; by chance they can be too small for it.
  chance <- pmax(.chance(panel$counts, design, weights, miss, week, weeks), noise)
  chance[!.complete(panel)] <- NA
  list(
    value = ifelse(.complete(panel), value, NA), noise_low = value + under - noise, noise_high = value + over + noise,
    low = value - chance, high = value + chance
  )
}

# Without errors of floating point: a difference of nothing is 0, and what ends at 0 is not beyond it.
.rounded <- function(found) lapply(found, round, 9)

# By how much a mean day of a period differs from that of an earlier one, days of the week being compared alike.
.change <- function(after, before, past, miss) {
  panel <- list(days = c(before$days, after$days), gaussian = before$gaussian && after$gaussian)
  for (name in c("counts", "left_out", "noise")) panel[[name]] <- cbind(before[[name]], after[[name]])
  late <- rep(0:1, c(length(before$days), length(after$days)))
  alike <- matrix(1, length(late), 1)
  for (labels in .kinds(panel$days)) {
    if (setequal(labels[late == 0], labels[late == 1])) {
      alike <- .columns(labels)
      break
    }
  }
  weights <- .last_row(.inverse(cbind(alike, late)))
  found <- .contrast(panel, weights, cbind(.strata(panel$days, others = 1), late), miss)
  noise <- (found$noise_high - found$noise_low) / 2
  complete <- .complete(panel)
  around <- function(half) {
    found$low <- found$value - half
    found$high <- found$value + half
    found
  }
  residual <- .as_products(panel, late)
  if (!is.null(residual)) {
    half <- stats::qt(1 - CAUTION * miss / 2, residual$freedom) * sqrt(residual$variance * sum(weights^2))
    known <- complete & !is.na(half)
    products <- around(pmax(half, noise))
    found$low[known] <- products$low[known]
    found$high[known] <- products$high[known]
  }
  if (is.null(past)) {
    return(found)
  }
  periods <- cbind(past$days %in% before$days, past$days %in% after$days) + 0
  design <- cbind(.strata(past$days, others = 2), periods)
  rest <- !past$days %in% panel$days
  others <- list(days = past$days[rest], counts = past$counts[, rest, drop = FALSE])
  weeks <- 7 / length(before$days) + 7 / length(after$days)
  half <- pmax(.chance(past$counts, design, weights, miss, .between_weeks(others), weeks), noise)
  known <- complete & .complete(past)
  own <- around(half)
  found$low[known] <- own$low[known]
  found$high[known] <- own$high[known]
  found
}

# The residual variance of two periods of whole weeks, and its degrees of freedom, in numbers that are products: a
# number is expected to be that of its day of the week, times that of its period. Busy days vary by more, so that fewer
# days count (Satterthwaite 1946). NA where the total is hardly more than its noise, so that there are no shares of it;
# NULL where periods are no whole weeks.
.as_products <- function(panel, late) {
  day <- .weekday(panel$days)
  sizes <- table(factor(day, 0:6), factor(late, 0:1))
  if (any(sizes == 0) || any(sizes[, 1] != sizes[1, 1]) || any(sizes[, 2] != sizes[1, 2])) {
    return(NULL)
  }
  rows <- nrow(panel$counts)
  mean_of <- function(period) {
    found <- vapply(0:6, function(name) {
      rowMeans(panel$counts[, day == name & late == period, drop = FALSE])
    }, numeric(rows))
    matrix(found, rows)
  }
  first <- mean_of(0)
  second <- mean_of(1)
  total <- rowSums(first) + rowSums(second)
  daily <- (first + second) / ifelse(total > 0, total, 1)
  expected <- (daily * rowSums(first))[, day + 1, drop = FALSE]
  later <- (daily * rowSums(second))[, day + 1, drop = FALSE]
  expected[, late == 1] <- later[, late == 1]
  of_total <- rowSums(panel$noise[, late == 0, drop = FALSE]) / sizes[1, 1]^2 +
    rowSums(panel$noise[, late == 1, drop = FALSE]) / sizes[1, 2]^2
  freedom <- ncol(panel$counts) - 8
  variance <- rowSums((panel$counts - expected)^2) / freedom
  level <- pmax((first + second) / 2, 0)
  noise <- rowMeans(panel$noise)
  share <- pmax(variance - noise - rowMeans(level), 0) / pmax(rowMeans(level^2), 1)
  each <- noise + level + share * level^2
  as_many <- ifelse(noise + rowSums(level) > 0, rowSums(each)^2 / pmax(rowSums(each^2), 1e-9), 7)
  variance[!(total > 0 & total >= CLEAR * sqrt(of_total))] <- NA
  list(variance = variance, freedom = pmax(round(freedom * as_many / 7), 1))
}

# --- noise ---------------------------------------------------------------------------------------------------------

# The values of the noise of one cell and their probabilities: integers, symmetric around 0.
.noise <- function(claim) {
  scale <- .fraction(claim$scale_exact)
  gaussian <- grepl("gaussian", claim$noise)
  last <- ceiling(scale * if (gaussian) 9 else 40) + 1
  values <- seq(-last, last)
  weights <- if (gaussian) {
    exp(-values^2 / (2 * scale^2))
  } else if (.is_rounded(claim)) {
    .laplace(values + 0.5, claim) - .laplace(values - 0.5, claim)
  } else {
    exp(-abs(values) / scale)
  }
  list(values = values, p = weights / sum(weights))
}

.variance <- function(claim) {
  noise <- .noise(claim)
  sum(noise$values^2 * noise$p)
}

.is_gaussian <- function(claim) grepl("gaussian", claim$noise)

# How many standard deviations a sum of noise is off at most, but for this probability.
.quantile <- function(miss, gaussian) {
  normal <- stats::qnorm(1 - miss / 2)
  if (gaussian) normal else max(normal, -log(miss) / sqrt(2))
}

# What a cell that is not there has at most.
.absent <- function(claim) if (grepl("listed", claim$noise)) Inf else claim$absent_95

# How many values a column can have; infinite where nobody knows.
.number_of <- function(frame, key) {
  known <- attr(frame, "chosen")[[key]]
  if (is.null(known)) known <- attr(frame, "known")[[key]]
  if (is.null(known)) Inf else length(known)
}

.is_rounded <- function(claim) identical(claim$noise, "laplace-rounded")

# P(noise at most x), before it is rounded.
.laplace <- function(x, claim) {
  tail <- exp(-abs(x) / .fraction(claim$scale_exact)) / 2
  ifelse(x < 0, tail, 1 - tail)
}

.fraction <- function(text) {
  parts <- as.numeric(strsplit(text, "/", fixed = TRUE)[[1]])
  if (length(parts) == 2) parts[1] / parts[2] else parts[1]
}

# How far the noise of a number of cells goes, added up: by the Fourier transform of its distribution.
.spread <- function(claims, cells, miss) {
  if (cells == 0) {
    return(0)
  }
  noises <- lapply(claims, .noise)
  variance <- cells * sum(vapply(noises, function(each) sum(each$values^2 * each$p), 0))
  widest <- max(vapply(noises, function(each) length(each$values), 0))
  size <- 2^ceiling(log2(2 * widest + 40 * sqrt(variance)))
  transform <- 1
  for (each in noises) {
    placed <- numeric(size)
    placed[each$values %% size + 1] <- each$p
    transform <- transform * stats::fft(placed)^cells
  }
  summed <- pmax(Re(stats::fft(transform, inverse = TRUE)) / size, 0)
  around <- summed[1:(size / 2)] + c(0, rev(summed)[1:(size / 2 - 1)])
  beyond <- rev(cumsum(rev(around))) + 1e-9
  which(beyond <= miss)[1] - 2
}

# The half-width around a published count, and the most that a cell has which was not published.
.interval <- function(claim, miss) {
  noise <- .noise(claim)
  half <- .spread(list(claim), 1, miss)
  threshold <- .fraction(claim$threshold_exact)
  tail <- function(from) sum(noise$p[noise$values >= from])
  # The threshold is applied before rounding.
  shown <- function(count) if (.is_rounded(claim)) 1 - .laplace(threshold - count, claim) else tail(threshold - count)
  hidden_too_often <- function(count) tail(half + 1) + 1 - min(tail(-half), shown(count)) > miss
  every <- grepl("world", claim$noise)
  absent <- if (every) 0 else max(0, Filter(hidden_too_often, 0:ceiling(threshold + half)))
  list(half = half, least = if (every || grepl("listed", claim$noise)) 0 else 1, absent = absent)
}

# By how much a count may be too high on average because noise raised it above the threshold.
.lean <- function(claim, counts) {
  if (grepl("world", claim$noise)) {
    return(0 * counts)
  }
  noise <- .noise(claim)
  half <- claim$error_95
  lean <- pmin(3 * sum(noise$values^2 * noise$p) / pmax(counts, 1), half)
  ifelse(counts < claim$smallest_published + half, half, lean)
}
