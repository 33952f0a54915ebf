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
  .frame(cells, claim = claim, known = .known(release, cells), release = release)
}

# The rows that have these values, such as mode = "ferry", without their columns; or one of several values.
tv_where <- function(frame, ...) {
  values <- lapply(list(...), .labels)
  chosen <- attr(frame, "chosen")
  kept <- rep(TRUE, nrow(frame))
  for (key in names(values)) {
    if (!key %in% .keys(frame)) stop("there is no column `", key, "`", .near(key, .keys(frame)), call. = FALSE)
    for (value in setdiff(values[[key]], frame[[key]])) .require(frame, key, value)
    kept <- kept & frame[[key]] %in% values[[key]]
    chosen[[key]] <- if (is.null(chosen[[key]])) values[[key]] else intersect(chosen[[key]], values[[key]])
  }
  single <- names(values)[lengths(values) == 1]
  .like(as.data.frame(frame)[kept, setdiff(names(frame), single), drop = FALSE], frame, chosen)
}

# The rows of the days from the first to the last; a month, such as "2025-03", or a year has all its days.
tv_between <- function(frame, first, last) {
  days <- .days(frame)
  first <- .labels(first)
  last <- .labels(last)
  days <- days[substr(days, 1, nchar(first)) >= first & substr(days, 1, nchar(last)) <= last]
  if (!length(days)) stop("there is no day from ", first, " to ", last, call. = FALSE)
  kept <- as.data.frame(frame)[frame$date %in% days, , drop = FALSE]
  .like(kept, frame, c(attr(frame, "chosen")[setdiff(names(attr(frame, "chosen")), "date")], list(date = days)))
}

# The mean of a day. From noise_low to noise_high lies the mean of the true counts of these days; from low to high that
# of days like these, as far as their spread tells. No mean where some day is not published.
tv_mean <- function(frame) {
  claim <- .published(frame)
  days <- .days(frame)
  keys <- setdiff(.keys(frame), "date")
  cells <- as.data.frame(frame)
  group <- if (length(keys)) do.call(paste, c(unname(as.list(cells[keys])), sep = "\r")) else rep("", nrow(cells))
  first <- !duplicated(group)
  counts <- matrix(NA_real_, sum(first), length(days))
  counts[cbind(match(group, group[first]), match(cells$date, days))] <- cells$count
  missing <- is.na(counts)
  counts[missing] <- 0
  weight <- 1 / length(days)
  noise <- .noise(claim)
  normal <- stats::qnorm(1 - MISS / 2)
  reach <- if (grepl("gaussian", claim$noise)) normal else max(normal, -log(MISS) / sqrt(2))
  spread <- sqrt(rowSums(!missing) * sum(noise$values^2 * noise$p)) * weight * reach
  half <- ceiling(spread / weight - 1e-9) * weight # whole counts, away from zero
  most <- if (grepl("listed", claim$noise)) Inf else claim$absent_95
  over <- ifelse(rowSums(missing) > 0, rowSums(missing) * weight * most, 0)
  mean <- rowSums(counts) * weight
  chance <- pmax(.chance(counts, days, weight), half)
  complete <- rowSums(missing) == 0
  found <- data.frame(
    cells[first, keys, drop = FALSE],
    days = rep(length(days), sum(first)),
    mean = ifelse(complete, mean, NA),
    noise_low = mean - half,
    noise_high = mean + over + half,
    low = ifelse(complete, mean - chance, NA),
    high = ifelse(complete, mean + chance, NA),
    check.names = FALSE
  )
  if (length(keys)) found <- found[do.call(order, c(unname(as.list(found[keys])), method = "radix")), , drop = FALSE]
  .frame(found, adds_up = FALSE)
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
  noise <- if (is.null(claim)) 0 else vapply(cells, function(n) .spread(list(claim), n, MISS), 0)
  sums <- data.frame(
    listed = counts,
    listed_low = pmax(0, counts - ceiling(total(below)) - noise),
    listed_high = pmax(0, counts + ceiling(total(above)) + noise),
    cells = cells
  )
  keys <- as.data.frame(frame)[first, by, drop = FALSE]
  if (length(by)) sums <- cbind(keys, sums)[do.call(order, c(unname(as.list(keys)), method = "radix")), , drop = FALSE]
  .frame(sums, known = attr(frame, "known"), adds_up = FALSE)
}

# Differences of two tables of the same cells, with the interval of the noise; no count where one was not published.
# Days differ by chance as well: a difference beyond its noise is real, and may mean nothing.
tv_minus <- function(frame, other) {
  if (!identical(.keys(frame), .keys(other))) stop("the tables have different columns", call. = FALSE)
  claims <- list(.published(frame), .published(other))
  keys <- .keys(frame)
  named <- list(frame, other)
  for (n in 1:2) named[[n]] <- stats::setNames(as.data.frame(named[[n]])[c(keys, "count")], c(keys, paste0("count", n)))
  both <- merge(named[[1]], named[[2]], by = keys, all = TRUE)
  half <- .spread(claims, 1, MISS / 2)
  low <- high <- list()
  for (n in 1:2) {
    rule <- .interval(claims[[n]], MISS / 4)
    count <- both[[paste0("count", n)]]
    low[[n]] <- ifelse(is.na(count), 0, pmax(rule$least, count - rule$half))
    high[[n]] <- ifelse(is.na(count), rule$absent, pmax(0, count + rule$half))
  }
  count <- both$count1 - both$count2
  cells <- data.frame(
    both[keys],
    count = count,
    noise_low = ifelse(is.na(count), low[[1]] - high[[2]], count - half),
    noise_high = ifelse(is.na(count), high[[1]] - low[[2]], count + half),
    check.names = FALSE
  )
  .frame(cells, adds_up = FALSE)
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

.frame <- function(cells, claim = NULL, known = list(), adds_up = TRUE, release = NULL, chosen = list()) {
  rownames(cells) <- NULL
  structure(cells,
    class = c("tv_frame", "data.frame"), claim = claim, known = known, adds_up = adds_up, release = release,
    chosen = chosen
  )
}

.like <- function(cells, frame, chosen) {
  .frame(cells, attr(frame, "claim"), attr(frame, "known"), attr(frame, "adds_up"), attr(frame, "release"), chosen)
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

.keys <- function(frame) setdiff(names(frame), .numbers)

.published <- function(frame) {
  claim <- attr(frame, "claim")
  if (is.null(claim) || isFALSE(attr(frame, "adds_up"))) stop("only counts as they were published have that", call. = FALSE)
  claim
}

# --- days ----------------------------------------------------------------------------------------------------------

# How far a mean is off by noise and days: from the spread of the counts of days that are alike.
.chance <- function(counts, days, weight) {
  day <- as.Date(days, format = "%Y-%m-%d")
  if (anyNA(day)) stop("its days are labels, and not days of a calendar", call. = FALSE)
  names <- (as.POSIXlt(day)$wday + 6) %% 7 # Monday is 0
  alike <- rep(0, length(days))
  for (labels in list(names, pmax(names, 4), as.numeric(names > 4))) {
    if (length(days) - length(unique(labels)) >= FEWEST) {
      alike <- labels
      break
    }
  }
  freedom <- length(days) - length(unique(alike))
  if (freedom < FEWEST) {
    return(rep(NA_real_, nrow(counts)))
  }
  squares <- rep(0, nrow(counts))
  for (label in unique(alike)) {
    own <- counts[, alike == label, drop = FALSE]
    squares <- squares + rowSums((own - rowMeans(own))^2)
  }
  stats::qt(1 - CAUTION * MISS / 2, freedom) * sqrt(squares / freedom * length(days) * weight^2)
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
