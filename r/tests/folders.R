# Opens each folder that is named on the command line, and asks it what every folder can tell.
library(tapveil)

for (path in commandArgs(trailingOnly = TRUE)) {
  release <- tv_open(path)
  for (name in names(release$tables)) {
    table <- tv_table(release, name)
    sums <- tv_sum(table)
    stopifnot(
      is.data.frame(table), all(table$low <= pmax(table$count, 0)), all(table$high >= table$count),
      sums$listed == sum(table$count), sums$cells == nrow(table), sums$listed_low <= sums$listed
    )
  }
  cat(path, ": ", length(release$tables), " tables\n", sep = "")
}
